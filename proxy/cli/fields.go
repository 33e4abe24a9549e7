package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"breakwater/proxy/dialect"
)

// given collects the fields of a connection that flags set, by the names that
// they have in the API.
type given map[string]any

// connectionFlags declares a flag for every field that both a new connection
// and a change of one have.
func connectionFlags(fs *flag.FlagSet) given {
	g := given{}
	g.text(fs, "name", "name", "what to call it")
	g.text(fs, "credential", "credential", "the `kind` of login: apikey, token (pasted), oauth (stored and refreshed), passthrough (the client's own) or none")
	g.text(fs, "base-url", "baseUrl", "its `address`, in place of the provider's; empty goes back to that")
	g.list(fs, "dialect", "dialects", "a `dialect` it speaks: "+dialect.Choice()+"; may come several times")
	g.text(fs, "default-model", "defaultModel", "the `model` to ask for in place of one it does not offer")
	g.list(fs, "model", "models", "a `pattern` of the models it offers; may come several times, empty takes the catalogue's")
	g.integer(fs, "priority", "priority", "1 is tried first")
	g.toggle(fs, "disable-cooling", "disableCooling", "never let it rest after a failure")
	g.toggle(fs, "low-priority-mode", "lowPriorityMode", "Claude subscriptions: go on in the low-priority lane at the limit")
	g.toggle(fs, "auto-limit-reset", "autoLimitReset", "Claude subscriptions: ask for the limit reset at the limit")
	g.integer(fs, "max-concurrent", "maxConcurrent", "requests at once; 0 is no cap")
	g.object(fs, "rate-limit-overrides", "rateLimitOverrides", "limits of its own, such as '{\"rpm\":60}'; null clears them")
	g.object(fs, "quota-window-thresholds", "quotaWindowThresholds", "percent left by window, such as '{\"weekly\":5}'; null clears them")
	g.object(fs, "rotation-overrides", "rotationOverrides", "when failures let it rest")
	g.list(fs, "tag", "tags", "a `tag`; may come several times, empty takes all away")
	g.text(fs, "group", "group", "its group")
	g.orNull(fs, "health-check-interval", "healthCheckInterval", "oauth: minutes between two looks at the login, 0 never looks; null leaves it to the settings", "number")
	g.list(fs, "excluded-model", "excludedModels", "a `pattern` of models it is never asked for; may come several times, empty takes all away")
	g.text(fs, "user-agent", "customUserAgent", "what is sent as User-Agent in place of the client's; empty sends that")
	g.text(fs, "validation-model", "validationModelId", "the `model` that a test asks for; empty asks for the list of models")
	g.orNull(fs, "per-model-quota", "passthroughModels", "whether a used-up quota concerns one model only; null leaves it to the provider", "switch")
	g.integer(fs, "timeout-ms", "timeoutMs", "Claude: milliseconds until an answer must begin; 0 is the usual time")
	g.text(fs, "organization-uuid", "organizationUUID", "Claude: the account's organisation, for the limit reset")
	g.text(fs, "client-id", "clientId", "oauth: the client that the token endpoint knows")
	g.text(fs, "token-url", "tokenUrl", "oauth: the token endpoint's `address`")
	g.text(fs, "token-format", "tokenFormat", "oauth: form or json")
	fs.Func("proxy-url", "the outbound proxy's `address`: direct, or http://, https:// or socks5://; empty goes as the environment says", func(v string) error {
		if strings.Contains(v, "@") && !strings.Contains(v, "://@") {
			return errProxyLogin
		}
		g["proxyUrl"] = v
		return nil
	})
	return g
}

// errProxyLogin keeps passwords out of the list of processes.
var errProxyLogin = errors.New("an address with a user name or a password comes from --proxy-url-stdin or --proxy-url-env")

// proxyFlags declare where an outbound proxy's address with its login comes
// from.
func proxyFlags(fs *flag.FlagSet) source {
	return secretFlags(fs, "proxy-url", "the address of the outbound proxy")
}

func (g given) text(fs *flag.FlagSet, name, field, about string) {
	fs.Func(name, about, func(v string) error { g[field] = v; return nil })
}

func (g given) integer(fs *flag.FlagSet, name, field, about string) {
	fs.Func(name, about+" (a `number`)", func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Errorf("expected a whole number")
		}
		g[field] = n
		return nil
	})
}

// toggle is a switch: alone it is on, with =false off.
func (g given) toggle(fs *flag.FlagSet, name, field, about string) {
	fs.BoolFunc(name, about+" (=false takes it back)", func(v string) error {
		switch strings.ToLower(v) {
		case "true", "on", "yes", "1":
			g[field] = true
		case "false", "off", "no", "0":
			g[field] = false
		default:
			return fmt.Errorf("expected true or false")
		}
		return nil
	})
}

// orNull is a whole number or a switch for which null has a meaning.
func (g given) orNull(fs *flag.FlagSet, name, field, about, kind string) {
	fs.Func(name, about+" (`"+kind+"`)", func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case v == "null":
			g[field] = json.RawMessage("null")
		case kind == "number" && err == nil:
			g[field] = n
		case kind == "switch" && (v == "true" || v == "false"):
			g[field] = v == "true"
		case kind == "number":
			return fmt.Errorf("expected a whole number or null")
		default:
			return fmt.Errorf("expected true, false or null")
		}
		return nil
	})
}

func (g given) list(fs *flag.FlagSet, name, field, about string) {
	fs.Func(name, about, func(v string) error {
		old, _ := g[field].([]string)
		if old == nil {
			old = []string{}
		}
		if v != "" {
			old = append(old, v)
		}
		g[field] = old
		return nil
	})
}

func (g given) object(fs *flag.FlagSet, name, field, about string) {
	fs.Func(name, about+" (`JSON`)", func(v string) error {
		var any map[string]json.RawMessage
		if json.Unmarshal([]byte(v), &any) != nil {
			return fmt.Errorf("expected a JSON object or null")
		}
		g[field] = json.RawMessage(v)
		return nil
	})
}

// into fills a struct of the facade with what was given.
func (g given) into(dst any) error {
	raw, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return strictly(raw, dst, "field")
}

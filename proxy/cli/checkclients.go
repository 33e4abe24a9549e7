package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// clientSetting is where a client is told its address.
type clientSetting struct {
	client, where string
	value         string
	v1            bool // it wants the address with /v1
}

// checkClients looks whether clients are pointed here, and in the right form.
func checkClients(r *report, env func(string) string, home, base string, port int) {
	if base == "" {
		base = "http://127.0.0.1:" + strconv.Itoa(port)
	}
	here := 0
	for _, s := range clientSettings(env, home) {
		v := strings.TrimRight(s.value, "/")
		switch {
		case !isHere(v, base, port):
			r.add(Remark, "client", fmt.Sprintf("%s goes to %s (%s)", s.client, s.value, s.where), "Nothing to do if that is meant; Breakwater is at "+base+".")
			continue
		case s.v1 && !strings.HasSuffix(v, "/v1"):
			r.add(Problem, "client", fmt.Sprintf("%s goes to %s (%s), which lacks /v1", s.client, s.value, s.where), "Set it to "+base+"/v1.")
		case !s.v1 && strings.HasSuffix(v, "/v1"):
			r.add(Remark, "client", fmt.Sprintf("%s goes to %s (%s) and adds its own /v1", s.client, s.value, s.where), "Set it to "+base+".")
		default:
			r.ok("client", "%s goes to Breakwater (%s)", s.client, s.where)
		}
		here++
	}
	if here == 0 {
		r.add(Remark, "client", "no client that this program can see goes to Breakwater", "ANTHROPIC_BASE_URL="+base+" for Claude Code; the README has the others.")
	}
}

func isHere(v, base string, port int) bool {
	for _, b := range []string{base, "http://127.0.0.1:" + strconv.Itoa(port), "http://localhost:" + strconv.Itoa(port), "http://[::1]:" + strconv.Itoa(port)} {
		if v == b || v == b+"/v1" {
			return true
		}
	}
	return false
}

// codexURL finds the addresses in Codex's file; its other lines do not matter.
var codexURL = regexp.MustCompile(`(?m)^\s*base_url\s*=\s*"([^"]+)"`)

func clientSettings(env func(string) string, home string) (list []clientSetting) {
	for _, e := range []clientSetting{
		{client: "Claude Code", where: "ANTHROPIC_BASE_URL"},
		{client: "an OpenAI client", where: "OPENAI_BASE_URL", v1: true},
		{client: "aider", where: "OPENAI_API_BASE", v1: true},
		{client: "aider", where: "ANTHROPIC_API_BASE"},
	} {
		if e.value = env(e.where); e.value != "" {
			list = append(list, e)
		}
	}
	if home == "" {
		return list
	}
	claude := filepath.Join(home, ".claude", "settings.json")
	var set struct {
		Env map[string]any `json:"env"`
	}
	if raw, err := os.ReadFile(claude); err == nil && json.Unmarshal(raw, &set) == nil {
		if v, ok := set.Env["ANTHROPIC_BASE_URL"].(string); ok {
			list = append(list, clientSetting{client: "Claude Code", where: claude, value: v})
		}
	}
	codex := filepath.Join(home, ".codex", "config.toml")
	if raw, err := os.ReadFile(codex); err == nil {
		for _, m := range codexURL.FindAllStringSubmatch(string(raw), -1) {
			list = append(list, clientSetting{client: "Codex", where: codex, value: m[1], v1: true})
		}
	}
	return list
}

// checkConnections looks at each connection, and asks its provider unless that
// is not wanted.
func checkConnections(ctx context.Context, r *report, f control.Facade, offline bool) {
	snap, err := f.Snapshot(ctx)
	if err != nil {
		return // said already
	}
	if len(snap.Connections) == 0 {
		r.add(Problem, "connections", "there are none", "Add one in the window, or with breakwater connections add.")
		return
	}
	for _, k := range snap.Connections {
		name := "connection " + k.Name
		switch {
		case !k.Active:
			r.add(Remark, name, "switched off", fmt.Sprintf("breakwater connections on %q", k.Name))
		case k.State == control.StateKeyMissing, !k.HasSecret && (k.Credential == "apikey" || k.Credential == "token"):
			r.add(Problem, name, "its key is missing on this machine", fmt.Sprintf("Type it again in the window, or with breakwater connections edit %q --key-stdin.", k.Name))
		case offline || k.Credential == "passthrough":
			checkState(r, name, k)
		default:
			checkWorking(ctx, r, f, name, k)
		}
	}
}

// checkState goes by what the last requests taught.
func checkState(r *report, name string, k control.Connection) {
	found := string(k.State)
	if w := why(k); w != "" && k.State != control.StateServing {
		found += ": " + w
	}
	switch {
	case k.State == control.StateWrongAddress:
		r.add(Problem, name, found, fmt.Sprintf("Correct the address (%s), then run breakwater connections test %q.", k.BaseURL, k.Name))
	case k.State == control.StateNeedsAttention:
		r.add(Problem, name, found, fmt.Sprintf("It is asked last. Check its key and its account, then run breakwater connections test %q.", k.Name))
	case k.State.Terminal():
		r.add(Problem, name, found, fmt.Sprintf("Mend the account or the key, then run breakwater connections test %q.", k.Name))
	case k.State.Available():
		r.ok(name, "%s", k.State)
	default:
		r.add(Remark, name, strings.TrimSpace(found+" "+left(k.Until)), "It comes back by itself.")
	}
}

func checkWorking(ctx context.Context, r *report, f control.Facade, name string, k control.Connection) {
	res, err := f.TestConnection(ctx, k.ID)
	switch {
	case err != nil:
		r.add(Problem, name, err.Error(), "Try again.")
	case res.Valid:
		r.ok(name, "works (%d ms)", res.LatencyMs)
	default:
		r.add(Problem, name, explain(res), remedy(res.Diagnosis.Type, k.Name))
	}
}

// explain says in words what a test found.
func explain(res control.TestResult) string {
	text := res.Error
	if text == "" && res.Asked != "" {
		text = res.Warning // it names the address
	}
	if text == "" {
		text = strings.ReplaceAll(res.Diagnosis.Type, "_", " ")
	}
	if res.StatusCode > 0 && !strings.Contains(text, strconv.Itoa(res.StatusCode)) {
		text += fmt.Sprintf(" (status %d)", res.StatusCode)
	}
	if !strings.Contains(text, res.Asked) {
		text += askedAt(res)
	}
	return text
}

// remedy is what helps against a diagnosis (settings sheet §2.11).
func remedy(diagnosis, name string) string {
	switch diagnosis {
	case "upstream_auth_error", "token_expired", "auth_missing", "token_refresh_failed":
		return "Enter a key that is in force in the window."
	case "account_deactivated":
		return "Ask the provider about the account."
	case "upstream_rate_limited":
		return "Wait; the key works, the provider limits it."
	case "network_error":
		return "Check the address, the network and the proxy settings."
	case "unsupported":
		return "This kind of connection cannot be tested; send it a request."
	}
	return fmt.Sprintf("Try again later: breakwater connections test %q", name)
}

// askedAt names the address that a test asked (case Q20).
func askedAt(res control.TestResult) string {
	if res.Asked == "" {
		return ""
	}
	return "; asked " + res.Asked
}

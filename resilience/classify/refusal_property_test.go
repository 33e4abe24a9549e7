package classify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/outcome"
)

// generated is a refusal of the property test and what is known of it.
type generated struct {
	in Input
	// listed tells that a listed word of a ban, a key or credit stands where the
	// provider itself speaks; credit and quota tell which kind of words it has.
	listed, credit, quota bool
	own                   bool
	kind, word            string
	stated                time.Duration // 0: none
}

// vocabulary are words for refusals, by what they are about.
var vocabulary = map[string][]string{
	"none":   {"no", "Zugriff nicht möglich", "something went wrong", "denied", ""},
	"ban":    {"This organization has been disabled.", "your account has been suspended", "account_deactivated", "Verify your account to continue"},
	"key":    {"API key not valid. Please pass a valid API key.", "Incorrect API key provided: xa***34.", "invalid_api_key"},
	"credit": {"insufficient_quota", "Your credit balance is too low", "You exceeded your current quota", "out of credits"},
	"quota":  {"quota exceeded", "usage limit reached", "weekly limit reached", "daily quota", "session limit reached"},
	"rate":   {"rate limit", "too many requests", "slow down"},
}

// own are layouts in which the provider itself says the words; others are
// layouts in which somebody else does.
var (
	ownLayouts = []func(string) string{
		func(w string) string { return fmt.Sprintf(`{"error":{"message":%s,"type":"x"}}`, quoted(w)) },
		func(w string) string {
			return fmt.Sprintf(`{"type":"error","error":{"type":"x","message":%s}}`, quoted(w))
		},
		func(w string) string { return fmt.Sprintf(`[{"error":{"code":1,"message":%s}}]`, quoted(w)) },
		func(w string) string { return fmt.Sprintf(`{"error":%s}`, quoted(w)) },
		func(w string) string { return fmt.Sprintf(`{"message":%s}`, quoted(w)) },
		func(w string) string { return fmt.Sprintf(`{"detail":%s}`, quoted(w)) },
		func(w string) string { return w },
	}
	otherLayouts = []func(string) string{
		func(w string) string { return "<!DOCTYPE html><html><title>" + w + "</title></html>" },
		func(w string) string { return fmt.Sprintf(`{"blocked":true,"why":%s}`, quoted(w)) },
		func(w string) string {
			return fmt.Sprintf(`{"error":{"message":"no"},"request":{"prompt":%s}}`, quoted(w))
		},
		func(w string) string {
			return fmt.Sprintf(`{"error":{"message":%s}}`, quoted(`value '`+w+`' is not allowed`))
		},
		func(w string) string { return fmt.Sprintf(`{"detail":[{"msg":"no","input":%s}]}`, quoted(w)) },
		func(w string) string {
			return fmt.Sprintf(`{"error":{"message":"no","metadata":{"raw":%s}}}`, quoted(w))
		},
		func(w string) string { return strings.Repeat("lorem ipsum ", 80) + w },
	}
)

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// generate draws status, words, layout and headers.
func generate(t *rapid.T) generated {
	g := generated{in: Input{
		Status:   rapid.SampledFrom([]int{302, 400, 401, 402, 403, 404, 405, 407, 409, 413, 422, 429, 451, 500, 502, 503, 511, 529}).Draw(t, "status"),
		Provider: rapid.SampledFrom([]string{"acme", "openai", "gemini", "claude", "codex", "openrouter", "custom", ""}).Draw(t, "provider"),
		Model:    rapid.SampledFrom([]string{"", "zz-model"}).Draw(t, "model"),
		Profile:  apiKeyProfile, Now: t0, Header: map[string][]string{},
		PerModelQuota: rapid.Bool().Draw(t, "per model"), CreditWaits: rapid.IntRange(0, 1).Draw(t, "waits"),
	}}
	if rapid.Bool().Draw(t, "login") {
		g.in.Profile = oauthProfile
	}
	kinds := []string{"none", "ban", "key", "credit", "quota", "rate"}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	word := rapid.SampledFrom(vocabulary[kind]).Draw(t, "word")
	layouts, own := otherLayouts, rapid.Bool().Draw(t, "own")
	if own {
		layouts = ownLayouts
	}
	g.own, g.kind, g.word = own, kind, word
	g.in.Body = []byte(rapid.SampledFrom(layouts).Draw(t, "layout")(word))
	g.listed = own && (kind == "ban" || kind == "key" || kind == "credit")
	g.credit, g.quota = own && kind == "credit", own && (kind == "quota" || kind == "credit")
	g.drawTime(t)
	return g
}

// drawTime adds headers that state an end, or only seem to.
func (g *generated) drawTime(t *rapid.T) {
	n := rapid.IntRange(1, 100_000).Draw(t, "seconds")
	value, set := fmt.Sprint(n), func(name, v string) { g.in.Header[name] = []string{v} }
	switch rapid.SampledFrom([]string{"none", "retry-after", "ms", "window", "left", "info"}).Draw(t, "time") {
	case "retry-after":
		set("Retry-After", value)
	case "ms":
		set("retry-after-ms", fmt.Sprint(n*1000))
	case "window":
		set("X-RateLimit-Reset", value)
		set("X-RateLimit-Remaining", "0")
	case "info":
		if !g.own {
			return
		}
		g.in.Body = fmt.Appendf(nil, `{"error":{"message":%s,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ds"}]}}`, quoted(g.word), n)
	case "left":
		set("X-RateLimit-Reset", value)
		set("X-RateLimit-Remaining", "3")
		return
	default:
		return
	}
	g.stated = time.Duration(n) * time.Second
}

// Whatever is refused in whatever way: no terminal state without a listed word in
// the provider's own shape, a 402 or a 401; no stated time is ignored; a neutral
// outcome costs nobody anything (rulings 55 to 57, 62).
func TestRefusalsAreJudgedByEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generate(t)
		o := Response(g.in)
		keepsEvidence(t, g, o)
		if o.Row == "" || len([]rune(o.Words)) > 120 {
			t.Fatalf("row %q, words %q", o.Row, o.Words)
		}
	})
}

func keepsEvidence(t *rapid.T, g generated, o outcome.Outcome) {
	t.Helper()
	status := g.in.Status
	switch {
	case o.Terminal != outcome.NotTerminal && !g.listed && status != 401 && status != 402:
		t.Fatalf("%s without evidence: %s\n%+v", o.Terminal, g.in.Body, o)
	case o.Terminal == outcome.Banned && !g.listed:
		t.Fatalf("banned without a word: %s\n%+v", g.in.Body, o)
	case o.Terminal == outcome.CreditsExhausted && status != 402 && (!g.credit || g.stated > 0):
		t.Fatalf("out of credit without evidence: %s\n%+v", g.in.Body, o)
	case o.Class == outcome.Neutral && (o.Cooldown != 0 || o.Terminal != "" || o.SetsLevel || o.Permanent || o.Trips()):
		t.Fatalf("neutral, yet it costs something: %+v", o)
	case o.Reason == outcome.ReasonNotAPI && (o.Trips() || o.Terminal != ""):
		t.Fatalf("a page costs more than a rest: %+v", o)
	case o.Reason == outcome.ReasonQuota && status == 403 && g.kind != "quota" && g.kind != "credit":
		t.Fatalf("a 403 is called a quota: %s\n%+v", g.in.Body, o)
	}
	timed := status == 429 || g.quota && status != 400 && status != 401 && status != 402 && status < 500
	if g.stated > 0 && timed && o.Class == outcome.Failure && o.Terminal == outcome.NotTerminal && !o.Permanent &&
		o.Reason != outcome.ReasonNotFound && o.Reason != outcome.ReasonWrongAddress && o.Reason != outcome.ReasonNotAPI && o.Cooldown != g.stated {
		t.Fatalf("stated %v, rests for %v: %s\n%+v", g.stated, o.Cooldown, g.in.Body, o)
	}
}

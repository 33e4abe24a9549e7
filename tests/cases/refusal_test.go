package cases

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// refusal is an answer of alpha and what must be made of it while beta is
// healthy (field cases Q01 to Q17).
type refusal struct {
	name     string
	provider string // "" is demo
	path     string // "" is Messages, streamed
	step     simulator.Step
	state    control.State // of alpha afterwards; "" is serving or cooling
	cools    time.Duration
	stays    bool // alpha's answer goes to the client and beta is not asked
}

// refusing is a refusal with a JSON body.
func refusing(status int, body string) simulator.Step {
	return simulator.Status(status).WithBody("application/json", body)
}

// bodyFor returns the path and the body of a case's request.
func bodyFor(path string) (string, string) {
	switch path {
	case "", "/v1/messages":
		return "/v1/messages", scenario.Messages
	case "/v1/responses":
		return path, scenario.Responses
	case "/v1/chat/completions whole":
		return "/v1/chat/completions", scenario.NoStream(scenario.Chat)
	}
	return path, scenario.Chat
}

func (c refusal) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		k := scenario.Start(t)
		provider := c.provider
		if provider == "" {
			provider = "demo"
		}
		k.Add("alpha", provider, loginFor(k, provider))
		k.Add("beta", provider, loginFor(k, provider))
		alpha, beta := k.Sim.Account("alpha"), k.Sim.Account("beta")
		alpha.Script(c.step.Always())
		path, body := bodyFor(c.path)
		a := k.Post(path, body)
		want, calls := 200, 1
		if c.stays {
			want, calls = c.step.Status, 0
		}
		if a.Status != want || a.Err != nil || len(beta.Requests()) != calls || len(alpha.Requests()) != 1 {
			t.Fatalf("got %d, %v; alpha was asked %d times, beta %d: %s", a.Status, a.Err, len(alpha.Requests()), len(beta.Requests()), a.Body)
		}
		got := k.Connection("alpha")
		if c.state != "" && got.State != c.state || c.state == "" && terminal(got.State) {
			t.Errorf("alpha is %s, want %q", got.State, c.state)
		}
		if rests := rests(k, "alpha"); rests != c.cools {
			t.Errorf("alpha rests for %v, want %v", rests, c.cools)
		}
		if got.LastErrorType == "quota_exhausted" && c.step.Status == 403 {
			t.Error("a 403 is called a quota")
		}
		if n := k.Breaker(provider).FailureCount; n != 0 {
			t.Errorf("the provider's breaker counts %d", n)
		}
	})
}

func terminal(s control.State) bool {
	return s == control.StateBanned || s == control.StateExpired || s == control.StateCreditsExhausted
}

// rests is how long a connection, or the model that was asked for where the
// provider counts by model, is left out.
func rests(k *scenario.Kit, name string) time.Duration {
	d := k.CoolsFor(name)
	for _, l := range k.Connection(name).Lockouts {
		d = max(d, time.Until(l.Until).Round(100*time.Millisecond))
	}
	return d
}

// loginFor gives the providers of subscriptions a login.
func loginFor(k *scenario.Kit, provider string) func(*control.ConnectionInput) {
	switch provider {
	case "codex", "claude":
		return func(in *control.ConnectionInput) {
			loggedIn(k, in.APIKey, "refresh-"+in.Name)(in)
			in.Provider = provider
		}
	}
	return func(*control.ConnectionInput) {}
}

func all(list []refusal, t *testing.T) {
	for _, c := range list {
		c.run(t)
	}
}

// A fault of the account, the key, the server or the model that comes as a 400
// is what it means (ruling 55 a).
func TestA400ThatIsNotTheRequests(t *testing.T) {
	const chat, whole = "/v1/chat/completions", "/v1/chat/completions whole"
	t.Run("Q01", func(t *testing.T) {
		all([]refusal{
			{name: "an organization that is disabled", provider: "anthropic", state: control.StateBanned, step: refusing(400, `{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}`)},
			{name: "an account, in another dialect", path: chat, state: control.StateBanned, step: refusing(400, `{"error":{"message":"Your account has been suspended.","type":"invalid_request_error"}}`)},
			{name: "a code alone", path: "/v1/responses", state: control.StateBanned, step: refusing(400, `{"error":{"message":"no","code":"account_deactivated"}}`)},
			{name: "a bare detail with a 403", path: whole, state: control.StateBanned, step: refusing(403, `{"detail":"This account is deactivated"}`)},
			{name: "echoed input bans nothing", step: refusing(400, `{"error":{"message":"Unsupported value: 'my account has been disabled'.","input":"account has been disabled"}}`)},
			{name: "a page bans nothing", step: simulator.Status(400).WithBody("text/html", "<html><title>Account has been disabled</title></html>")},
		}, t)
	})
	t.Run("Q02", func(t *testing.T) {
		all([]refusal{
			{name: "a list with details", provider: "gemini", path: chat, state: control.StateExpired, step: refusing(400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]`)},
			{name: "an object", provider: "gemini", path: whole, state: control.StateExpired, step: refusing(400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`)},
			{name: "an expired key", provider: "gemini", path: chat, state: control.StateExpired, step: refusing(400, `{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT"}}`)},
			{name: "the reason alone", path: chat, state: control.StateExpired, step: refusing(400, `{"error":{"code":400,"message":"Bad request","details":[{"reason":"API_KEY_INVALID"}]}}`)},
			{name: "a validator's echo refuses no key", path: chat, step: refusing(400, `{"detail":[{"loc":["body"],"msg":"value is not allowed","input":"invalid_api_key"}]}`)},
		}, t)
	})
	t.Run("Q03", func(t *testing.T) {
		all([]refusal{
			{name: "an error that is a string", provider: "xai", path: chat, state: control.StateExpired, step: refusing(400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***34."}`)},
			{name: "a bare message", path: "/v1/responses", state: control.StateExpired, step: refusing(400, `{"message":"Invalid API key"}`)},
			{name: "plain text", state: control.StateExpired, step: simulator.Status(400).WithBody("text/plain", "API key is invalid")},
			{name: "an identifier of the dialect", state: control.StateExpired, step: refusing(400, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)},
			{name: "a long text that contains the words", step: simulator.Status(400).WithBody("text/plain", strings.Repeat("prompt ", 200)+"invalid_api_key")},
		}, t)
	})
	t.Run("Q04", testUnloadable)
	t.Run("credit on a 400", func(t *testing.T) {
		all([]refusal{
			{name: "Messages", provider: "anthropic", state: control.StateCreditsExhausted, step: refusing(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`)},
			{name: "an overloaded server", path: chat, cools: 3 * time.Second, step: refusing(400, `{"error":{"message":"slow","type":"overloaded_error"}}`)},
		}, t)
	})
}

func testUnloadable(t *testing.T) {
	for name, step := range map[string]simulator.Step{
		"no resources":     refusing(400, `{"error":"Failed to load model \"qwen/qwen3-coder-30b\". Error: Model loading was stopped due to insufficient system resources."}`),
		"no memory":        refusing(500, `{"error":"model requires more system memory (9.1 GiB) than is available (4.2 GiB)"}`),
		"an error object":  refusing(400, `{"error":{"message":"Error loading model: out of VRAM","type":"invalid_request_error"}}`),
		"another status":   refusing(404, `{"error":{"message":"The model could not be loaded"}}`),
		"none is loaded":   refusing(400, `{"error":{"message":"No models loaded. Please load a model first."}}`),
		"the runner ended": refusing(500, `{"error":{"message":"llama runner process has terminated: exit status 2"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "lm-studio")
			k.Add("beta", "lm-studio")
			alpha := k.Sim.Account("alpha")
			alpha.Script(step)
			if a := k.Post("/v1/chat/completions", scenario.Chat); a.Status != 200 || a.From() != "beta" {
				t.Fatalf("got %d from %q: %s", a.Status, a.From(), a.Body)
			}
			if got := k.CoolsFor("alpha"); got != 0 {
				t.Errorf("the connection rests for %v", got)
			}
			if a := k.Post("/v1/chat/completions", scenario.Chat); a.From() != "beta" || len(alpha.Requests()) != 1 {
				t.Errorf("the model is not locked: %q answers", a.From())
			}
			if a := k.Post("/v1/chat/completions", strings.Replace(scenario.Chat, "m1", "m2", 1)); a.From() != "alpha" {
				t.Errorf("another model is answered by %q", a.From())
			}
			if n := k.Breaker("lm-studio").FailureCount; n != 0 {
				t.Errorf("the provider's breaker counts %d", n)
			}
		})
	}
}

// A request that every target would refuse is handed on at once (ruling 55 c).
func TestARequestThatIsWrong(t *testing.T) {
	t.Run("Q07", func(t *testing.T) {
		var list []refusal
		for _, message := range []string{
			"messages: roles must alternate", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
			"max_tokens: must be less than 8192", "We could not parse the JSON body of your request.", "prompt is too long: 210000 tokens > 200000 maximum",
			"messages: at least one message is required", "Invalid 'temperature': decimal_above_max_value",
			"An assistant message with 'tool_calls' must be followed by tool messages", "Your request was flagged as potentially violating our usage policy.",
			"No tool output found for function call call_1.",
		} {
			for _, path := range []string{"", "/v1/chat/completions", "/v1/responses"} {
				list = append(list, refusal{
					name: message + path, path: path, stays: true,
					step: simulator.Status(400).WithError(simulator.Error{Type: "invalid_request_error", Message: message}),
				})
			}
		}
		all(list, t)
	})
}

// What is not the provider's API says nothing about the account (ruling 56).
func TestPagesForAnswers(t *testing.T) {
	const chat, whole = "/v1/chat/completions", "/v1/chat/completions whole"
	challenge := simulator.Status(403).WithHeader("cf-mitigated", "challenge").
		WithBody("text/html; charset=UTF-8", "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>")
	page := func(status int, text string) simulator.Step {
		return simulator.Status(status).WithBody("text/html", text)
	}
	const first = 5 * time.Second
	t.Run("Q08", func(t *testing.T) {
		all([]refusal{
			{name: "a challenge, codex", provider: "codex", path: "/v1/responses", step: challenge, cools: first},
			{name: "a challenge, claude", provider: "claude", step: challenge, cools: first},
			{name: "a challenge, a key", path: chat, step: challenge, cools: first},
			{name: "a challenge, a login", provider: "demo-oauth", step: challenge, cools: first},
			{name: "a portal's 200", step: page(200, "\n <html>Welcome to the hotel</html>"), cools: first},
			{name: "a portal's 200 to a whole answer", path: whole, step: page(200, "<HTML>login</HTML>"), cools: first},
			{name: "a portal's 200 with another label", path: chat, step: simulator.Raw("application/json", "<!doctype html><p>login"), cools: first},
			{name: "a portal's 302", step: page(302, "<a href=http://login.hotel/>here</a>").WithHeader("Location", "http://login.hotel/"), cools: first},
			{name: "a 307 without a body", path: "/v1/responses", step: simulator.Status(307).WithBody("text/plain", "").WithHeader("Location", "/login"), cools: first},
			{name: "a filter's 403", path: chat, step: page(403, "<?xml version='1.0'?><html>Blocked: account has been disabled</html>"), cools: first},
			{name: "a filter's 451", path: whole, step: page(451, "<html>Not here</html>"), cools: first},
			{name: "a portal's 511", step: page(511, "<html>Log in</html>"), cools: first},
			{name: "an empty 403", provider: "demo-oauth", step: simulator.Status(403).WithBody("text/plain", ""), cools: first},
			{name: "a foreign 403", provider: "demo-oauth", path: chat, step: refusing(403, `{"blocked":true,"category":"generative ai","incident":77}`), cools: first},
			{name: "a foreign 200", path: whole, step: refusing(200, `{"blocked":true,"category":"generative ai"}`), cools: first},
		}, t)
	})
	t.Run("Q08 a wrong address", func(t *testing.T) {
		for name, step := range map[string]simulator.Step{
			"a page":              page(404, "<html><h1>404 Not Found</h1><hr>nginx</html>"),
			"a page, 405":         page(405, "<html><h1>405 Not Allowed</h1></html>"),
			"our path":            refusing(404, `{"timestamp":1,"status":404,"error":"Not Found","path":"/v2/messages"}`),
			"a router's words":    simulator.Status(404).WithBody("text/plain", "404 page not found"),
			"a framework's words": refusing(404, `{"detail":"Not Found"}`),
		} {
			t.Run(name, func(t *testing.T) {
				k := scenario.Start(t)
				alpha, _ := k.Pair()
				alpha.Script(step.Always())
				if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || a.From() != "beta" {
					t.Fatalf("got %d from %q: %s", a.Status, a.From(), a.Body)
				}
				if got := k.Connection("alpha"); terminal(got.State) || got.LastErrorType != "wrong_address" || len(got.Lockouts) != 0 {
					t.Errorf("alpha is %s, %q, locks %+v", got.State, got.LastErrorType, got.Lockouts)
				}
				if a := k.Post("/v1/messages", strings.Replace(scenario.Messages, "m1", "m2", 1)); a.From() != "beta" {
					t.Errorf("another model is sent to the same address: %q", a.From())
				}
			})
		}
	})
}

// A stated time beats words of quota (ruling 57).
func TestStatedTimesBeatWords(t *testing.T) {
	const chat = "/v1/chat/completions"
	const gemini = `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}`
	packed := strings.ReplaceAll(gemini, `"`, `\"`)
	t.Run("Q09", func(t *testing.T) {
		all([]refusal{
			{name: "Gemini", provider: "gemini", path: chat, step: refusing(429, gemini), cools: 41 * time.Second},
			{name: "Gemini at a key", path: chat, step: refusing(429, gemini), cools: 41 * time.Second},
			{name: "inside OpenRouter", provider: "openrouter", path: chat, cools: 41 * time.Second, step: refusing(429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"`+packed+`","provider_name":"Google AI Studio"}}}`)},
			{name: "a header", path: "/v1/responses", cools: 2 * time.Minute, step: refusing(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`).WithHeader("Retry-After", "120")},
			{name: "a 403 with a header", cools: time.Minute, step: refusing(403, `{"error":{"message":"insufficient credits"}}`).WithHeader("Retry-After", "60")},
			{name: "a day's quota with a header", provider: "demo-oauth", path: chat, cools: time.Hour, step: refusing(429, `{"error":{"message":"You exceeded your daily quota, try again tomorrow"}}`).WithHeader("Retry-After", "3600")},
			{name: "a window with requests left states nothing", path: chat, cools: 3 * time.Second, step: refusing(429, `{"error":{"message":"slow down"}}`).WithHeader("X-RateLimit-Reset", "3600").WithHeader("X-RateLimit-Remaining", "7")},
			{name: "without a time it is terminal", path: chat, state: control.StateCreditsExhausted, step: refusing(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`)},
			{name: "a 402 is terminal", path: chat, state: control.StateCreditsExhausted, step: refusing(402, `{"error":{"message":"pay"}}`).WithHeader("Retry-After", "60")},
		}, t)
	})
	t.Run("Q09 three waits that ran out", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		alpha.Script(refusing(429, `{"error":{"message":"insufficient_quota","code":"insufficient_quota"}}`).WithHeader("Retry-After", "60").Always())
		for n, want := range []bool{false, false, true} {
			k.Post(chat, scenario.Chat)
			if got := k.Connection("alpha").State == control.StateCreditsExhausted; got != want {
				t.Errorf("after refusal %d out of credit: %v, want %v", n+1, got, want)
			}
			k.Clock.Advance(61 * time.Second)
		}
	})
}

// Only listed words in the provider's own shape ban; a plain 403 rests by the
// ladder (ruling 62).
func TestPlainForbidden(t *testing.T) {
	t.Run("Q10", func(t *testing.T) {
		const base = 5 * time.Second
		all([]refusal{
			{name: "an organisation forbids OAuth", provider: "claude", cools: base, step: refusing(403, `{"type":"error","error":{"type":"permission_error","message":"OAuth authentication is currently not allowed for this organization."}}`)},
			{name: "codex", provider: "codex", path: "/v1/responses", cools: 2 * time.Minute, step: refusing(403, `{"detail":"Workspace access was removed"}`)},
			{name: "a login", provider: "demo-oauth", path: "/v1/chat/completions", cools: base, step: refusing(403, `{"error":{"message":"You do not have permission","code":"forbidden"}}`)},
			{name: "a key", cools: 3 * time.Second, step: refusing(403, `{"error":"Forbidden"}`)},
			{name: "a stated time", provider: "demo-oauth", cools: 90 * time.Second, step: refusing(403, `{"error":"Forbidden"}`).WithHeader("Retry-After", "90")},
			{name: "listed words on a 429", provider: "demo-oauth", state: control.StateBanned, step: refusing(429, `{"error":{"message":"Your account has been suspended"}}`)},
		}, t)
	})
}

// Resets in headers and as local times (cases Q15 to Q17).
func TestResetsThroughTheProxy(t *testing.T) {
	t.Run("Q15", func(t *testing.T) {
		refusal{
			name: "a used-up window of a login", provider: "codex", path: "/v1/responses", cools: 471285 * time.Second,
			step: refusing(429, `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached"}}`).
				WithHeader("x-codex-primary-used-percent", "100").WithHeader("x-codex-primary-reset-after-seconds", "471285"),
		}.run(t)
	})
	t.Run("Q16", func(t *testing.T) {
		for name, header := range map[string]string{"RateLimit": `"default";r=0;t=50`, "Ratelimit": "limit=100, remaining=0, reset=50"} {
			refusal{name: header, cools: 50 * time.Second, step: refusing(429, `{"error":{"message":"slow"}}`).WithHeader(name, header)}.run(t)
		}
		refusal{name: "a fraction", cools: 71 * time.Second, step: refusing(429, `{"error":{"message":"slow"}}`).WithHeader("x-ratelimit-reset-after", "70.5")}.run(t)
	})
	t.Run("Q17", func(t *testing.T) {
		// The scenario begins on 2 January 2030 at 03:04:05 UTC.
		refusal{
			name: "a time with its zone", path: "/v1/chat/completions", cools: 55*time.Minute + 55*time.Second,
			step: refusing(429, `{"error":{"message":"Limit reached. Your limit resets 9:30am (Asia/Kolkata)"}}`),
		}.run(t)
	})
}

// A connection test gives the reason that a request would.
func TestAConnectionTestGivesTheSameReason(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		body        string
		kind, words string
		valid       bool
	}{
		"Q01 a disabled organization": {status: 400, body: `{"error":{"message":"This organization has been disabled."}}`, kind: "account_deactivated", words: "This organization has been disabled."},
		"Q02 a refused key on a 400":  {status: 400, body: `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, kind: "upstream_auth_error", words: "the key is not valid"},
		"Q03 an error as a string":    {status: 400, body: `{"code":"x","error":"Incorrect API key provided: xa***34."}`, kind: "upstream_auth_error", words: "the key is not valid"},
		"Q08 a page as 200":           {status: 200, body: "<html>login</html>", kind: "not_api", words: "a web page came instead of an answer"},
		"Q08 a challenge":             {status: 403, body: "<!DOCTYPE html><title>Just a moment...</title>", kind: "not_api", words: "a web page came instead of an answer"},
		"Q10 forbidden":               {status: 403, body: `{"error":{"message":"OAuth is not allowed"}}`, kind: "upstream_auth_error", words: "OAuth is not allowed"},
		"Q09 a limit":                 {status: 429, body: `{"error":{"message":"You exceeded your current quota. Please retry in 41s"}}`, kind: "upstream_rate_limited", words: "a limit is reached"},
		"a list":                      {status: 200, body: `{"data":[{"id":"m1"}]}`, kind: "ok", valid: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			url := upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			added := k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = url })
			res, err := k.Facade().TestConnection(t.Context(), added.ID)
			if err != nil || res.Valid != c.valid || res.Diagnosis.Type != c.kind || !strings.Contains(res.Error, c.words) {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

package cases

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// pool is a product with the accounts alpha, beta and gamma and a combo "best"
// over them, each pinned, under the models m-alpha, m-beta and m-gamma.
type pool struct {
	*scenario.Kit
	t *testing.T
}

func newPool(t *testing.T, k *scenario.Kit, strategy string, config map[string]any, names ...string) pool {
	t.Helper()
	in := control.ComboInput{Name: "best", Strategy: strategy, Config: config}
	for _, n := range names {
		c := k.Add(n, "demo")
		in.Steps = append(in.Steps, control.ComboStep{Model: "demo/m-" + n, Connection: c.ID})
	}
	if _, err := k.Facade().AddCombo(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return pool{k, t}
}

// windows sets what is known of the models' context windows.
func (p pool) windows(of map[string]int64) {
	p.t.Helper()
	facts := map[string]control.ModelFact{}
	for m, n := range of {
		facts[m] = control.ModelFact{Context: n}
	}
	if _, err := p.Facade().EditAllSettings(p.t.Context(), control.AllSettingsPatch{ComboSettingsPatch: control.ComboSettingsPatch{ModelFacts: &facts}}); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends a small request for the combo.
func (p pool) ask(headers ...string) scenario.Answer {
	p.t.Helper()
	return p.Post("/v1/messages", strings.Replace(scenario.NoStream(scenario.Messages), "m1", "best", 1), headers...)
}

func (p pool) calls(name string) int { return len(p.Sim.Account(name).Requests()) }

func (p pool) wantCalls(want string) {
	p.t.Helper()
	var got []string
	for _, n := range []string{"alpha", "beta", "gamma"} {
		if c := p.calls(n); c > 0 {
			got = append(got, n+" "+strconv.Itoa(c))
		}
	}
	if s := strings.Join(got, ", "); s != want {
		p.t.Errorf("the upstreams were asked: %s; want %s", s, want)
	}
}

func badRequest(message string) simulator.Step {
	return simulator.Status(400).WithError(simulator.Error{Type: "invalid_request_error", Message: message})
}

// What ends a request for a combo and what moves on to the next target.
func TestComboAttemptLoop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		first  simulator.Step
		status int
		from   string
		calls  string
		larger bool // beta's window is known to be larger (ruling 55 c)
	}{
		{"case 90 a malformed request ends it", badRequest("Invalid message format: malformed content"), 400, "", "alpha 1", false},
		{"case 91 model not supported", badRequest("model m-alpha is not supported"), 200, "beta", "alpha 1, beta 1", false},
		{"case 91 wrapped in a bad request", badRequest("Bad Request: The model is not supported"), 200, "beta", "alpha 1, beta 1", false},
		{"case 91 another API", badRequest("this model does not support Responses API"), 200, "beta", "alpha 1, beta 1", false},
		{"case 92 a parameter out of range", badRequest("max_tokens must be in range [1, 8192]"), 200, "beta", "alpha 1, beta 1", false},
		{"case 92 an illegal parameter", badRequest("parameter is illegal"), 200, "beta", "alpha 1, beta 1", false},
		{"case 93 another model may be larger", badRequest("your input exceeds the limit of this model"), 200, "beta", "alpha 1, beta 1", true},
		{"case 93 none is known to be larger", badRequest("your input exceeds the limit of this model"), 400, "", "alpha 1", false},
		{"case 99 a broken gateway", simulator.Status(502), 200, "beta", "alpha 1, beta 1", false},
		{"case 101 a refused key", simulator.Status(401), 200, "beta", "alpha 1, beta 1", false},
		{"out of credit", simulator.Status(402), 200, "beta", "alpha 1, beta 1", false},
		{"no such model", simulator.Status(404), 200, "beta", "alpha 1, beta 1", false},
		{"unprocessable", simulator.Status(422), 200, "beta", "alpha 1, beta 1", false},
		{"a limit", simulator.Status(429), 200, "beta", "alpha 1, beta 1", false},
		{"overloaded", simulator.Status(529), 200, "beta", "alpha 1, beta 1", false},
		{"case 123 an answer without content", simulator.Empty(), 200, "beta", "alpha 1, beta 1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta", "gamma")
			if tt.larger {
				p.windows(map[string]int64{"demo/m-alpha": 8_000, "demo/m-beta": 200_000})
			}
			p.Sim.Account("alpha").Script(tt.first)
			a := p.ask()
			if a.Status != tt.status || a.From() != tt.from {
				t.Errorf("got %d from %q: %s", a.Status, a.From(), a.Body)
			}
			p.wantCalls(tt.calls)
			if last := p.Last(); last.Combo != "best" || last.Model != "best" {
				t.Errorf("recorded as combo %q, model %q", last.Combo, last.Model)
			}
		})
	}
	t.Run("case 94 too long for all that is left", func(t *testing.T) {
		k := scenario.Start(t)
		in := control.ComboInput{Name: "best"}
		for _, n := range []string{"alpha", "beta"} {
			in.Steps = append(in.Steps, control.ComboStep{Model: "demo/same", Connection: k.Add(n, "demo").ID})
		}
		if _, err := k.Facade().AddCombo(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		p := pool{k, t}
		p.Sim.Account("alpha").Script(badRequest("context_length_exceeded: the conversation is too long"))
		if a := p.ask(); a.Status != 400 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
		p.wantCalls("alpha 1")
	})
	t.Run("case 100 the same target again", func(t *testing.T) {
		k := scenario.Start(t)
		p := newPool(t, k, "priority", map[string]any{"retryDelayMs": 0.0}, "alpha", "beta")
		id := k.Connection("alpha").ID
		on := true
		if _, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{DisableCooling: &on}); err != nil {
			t.Fatal(err)
		}
		p.Sim.Account("alpha").Script(simulator.Status(504))
		if a := p.ask(); a.Status != 200 || a.From() != "alpha" {
			t.Errorf("got %d from %q", a.Status, a.From())
		}
		p.wantCalls("alpha 2")
	})
	t.Run("case 122 attempts have an end", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", map[string]any{"maxGlobalAttempts": 2.0}, "alpha", "beta", "gamma")
		for _, n := range []string{"alpha", "beta", "gamma"} {
			p.Sim.Account(n).Script(simulator.Status(500).Always())
		}
		a := p.ask()
		if a.Status != 503 || !strings.Contains(a.Body, "max_attempts_exceeded") {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
		p.wantCalls("alpha 1, beta 1")
	})
	t.Run("case 125a the served connection is named", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta")
		if a := p.ask(); a.Header.Get("X-OmniRoute-Selected-Connection-Id") != p.Connection("alpha").ID {
			t.Errorf("header %q", a.Header.Get("X-OmniRoute-Selected-Connection-Id"))
		}
	})
	t.Run("case 103 a failure left to the next of the same provider", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta")
		p.Sim.Account("alpha").Script(simulator.Status(500))
		p.ask()
		if n := p.Breaker("demo").FailureCount; n != 0 {
			t.Errorf("the breaker counted %d failures", n)
		}
	})
}

// diagnosis is the body of a refusal of a combo.
type diagnosis struct {
	Error struct {
		Code       string
		Type       string
		Message    string
		RetryAfter int    `json:"retry_after"`
		ResetAt    string `json:"reset_at"`
	}
	Diagnostics struct {
		PoolSize, Attempted int
		Excluded            []struct{ Provider, Model, Reason string }
		AttemptOrder        []struct{ Provider, Model string }
		TerminalReason      string
	}
	RecoveryHint struct {
		Action     string
		RetryAfter int `json:"retry_after_seconds"`
	} `json:"recovery_hint"`
}

func diagnosed(t *testing.T, a scenario.Answer) diagnosis {
	t.Helper()
	var d diagnosis
	if err := json.Unmarshal([]byte(a.Body), &d); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return d
}

// How a request for a combo ends that nobody answered.
func TestComboFinalAnswers(t *testing.T) {
	t.Run("case 118 weighted, everybody rests", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "weighted", nil, "alpha", "beta")
		for _, n := range []string{"alpha", "beta"} {
			p.Sim.Account(n).Script(simulator.Status(429).WithRetryAfter(57 * time.Second))
		}
		p.ask()
		a := p.ask()
		d := diagnosed(t, a)
		if a.Status != 503 || d.Error.Code != "all_targets_cooling_down" || d.Diagnostics.TerminalReason != "all_targets_cooling_down" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
		if n, _ := strconv.Atoi(a.Header.Get("Retry-After")); n < 50 || n > 60 {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		if len(d.Diagnostics.Excluded) != 2 || d.Diagnostics.Excluded[0].Reason != "connection_cooldown" || d.RecoveryHint.Action != "wait" {
			t.Errorf("diagnostics %+v", d)
		}
		if h := a.Header; h.Get("X-Omniroute-Combo-Pool-Size") != "2" || h.Get("X-Omniroute-Combo-Attempted") != "0" ||
			!strings.Contains(h.Get("X-Omniroute-Combo-Excluded"), "demo/m-alpha:connection_cooldown") || h.Get("X-Omniroute-Recovery-Action") != "wait" {
			t.Errorf("headers %v", h)
		}
		if !strings.Contains(p.Log.String(), "[COMBO] Weighted selection: every target excluded before dispatch — demo/m-alpha connection_cooldown 57s") {
			t.Error("the log does not say why")
		}
		// Claude Code gives up early on a 503 (ruling 41).
		c := p.ask(claudeCode, "s")
		if dc := diagnosed(t, c); c.Status != 429 || dc.Error.Type != "rate_limit_error" || len(dc.Diagnostics.Excluded) != 2 {
			t.Errorf("Claude Code got %d %s", c.Status, c.Body)
		}
	})
	t.Run("case 120 nothing to run", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "weighted", nil, "alpha")
		p.Sim.Account("alpha").Script(simulator.Status(402))
		p.ask()
		a := p.ask()
		// Ruling 71: only the user can mend it, which the status says in place of 404.
		if d := diagnosed(t, a); a.Status != 502 || d.Error.Code != "user_action_required" || d.Diagnostics.TerminalReason != "no_executable_targets" || d.RecoveryHint.Action != "switch-combo" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("case 35 limited for longer than a wait may be", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha")
		p.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(20 * time.Minute))
		p.ask()
		a := p.ask()
		d := diagnosed(t, a)
		if a.Status != 429 || d.Error.Type != "rate_limit_error" || d.Error.RetryAfter < 1190 || d.Error.ResetAt == "" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("case 36 what no wait cures", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha")
		p.Sim.Account("alpha").Script(simulator.Status(402))
		p.ask()
		a := p.ask()
		// Ruling 71 in place of 503 and ALL_TARGETS_SKIPPED.
		if d := diagnosed(t, a); a.Status != 502 || d.Error.Code != "user_action_required" || a.Header.Get("Retry-After") != "" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	for _, tt := range []struct {
		name   string
		first  int
		second int
		status int
	}{
		{"case 113 both speak of the request: the first refusal (ruling 55)", 400, 422, 400},
		{"case 113 both refuse the key (ruling 43)", 401, 401, 502},
		{"case 113 a key and a fault", 401, 500, 502},
		{"one kind keeps its status", 503, 500, 500},
		{"a timeout among others", 408, 500, 504},
		{"both limited", 429, 429, 429},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta")
			p.Sim.Account("alpha").Script(simulator.Status(tt.first))
			p.Sim.Account("beta").Script(simulator.Status(tt.second))
			if a := p.ask(); a.Status != tt.status || a.Header.Get("Retry-After") != "" && a.Status != 429 {
				t.Errorf("got %d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
			}
			p.wantCalls("alpha 1, beta 1")
		})
	}
	t.Run("case 116 the diagnostics count", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta", "gamma")
		p.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(time.Hour))
		p.ask()
		for _, n := range []string{"beta", "gamma"} {
			p.Sim.Account(n).Script(simulator.Status(500))
		}
		a := p.ask()
		d := diagnosed(t, a)
		if d.Diagnostics.PoolSize != 3 || d.Diagnostics.Attempted != 2 || len(d.Diagnostics.Excluded) != 1 || len(d.Diagnostics.AttemptOrder) != 2 {
			t.Errorf("diagnostics %+v", d.Diagnostics)
		}
	})
	t.Run("case 115 nothing but the diagnostics gets out", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha")
		key := p.Sim.Account("alpha").Key()
		p.Sim.Account("alpha").Script(simulator.Status(500).WithError(simulator.Error{Message: "the key " + key + " is strange"}))
		if a := p.ask(); strings.Contains(a.Body, key) {
			t.Errorf("the key got out: %s", a.Body)
		}
	})
}

// Requests for a combo wait for short cooldowns of its targets (guide §4).
func TestComboCooldownWait(t *testing.T) {
	limited := func(s time.Duration) simulator.Step { return simulator.Status(429).WithRetryAfter(s) }
	stream := strings.Replace(scenario.Messages, "m1", "best", 1)
	for _, strategy := range []string{"priority", "round-robin", "weighted", "random", "least-used", "auto"} {
		t.Run("ruling 35 "+strategy, func(t *testing.T) {
			p := newPool(t, scenario.StartWith(t, patient()), strategy, nil, "alpha", "beta")
			p.Sim.Account("alpha").Script(limited(20 * time.Second))
			p.Sim.Account("beta").Script(limited(30 * time.Second))
			a := waiting(t, p.Kit, "/v1/messages", stream, 31*time.Second, "alpha", "beta")
			if a.Status != 200 || a.From() == "" {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
	t.Run("case 27 the first that is back", func(t *testing.T) {
		p := newPool(t, scenario.StartWith(t, patient()), "priority", nil, "alpha", "beta")
		p.Sim.Account("alpha").Script(limited(2 * time.Second))
		p.Sim.Account("beta").Script(limited(30 * time.Second))
		a := waiting(t, p.Kit, "/v1/messages", stream, 3*time.Second, "alpha", "beta")
		if a.Status != 200 || a.From() != "alpha" {
			t.Errorf("got %d from %q", a.Status, a.From())
		}
		p.wantCalls("alpha 2, beta 1")
	})
	t.Run("case 34 before any attempt", func(t *testing.T) {
		p := newPool(t, scenario.StartWith(t, patient()), "priority", nil, "alpha")
		p.Sim.Account("alpha").Script(limited(20*time.Second), simulator.OK())
		p.Post("/v1/messages", strings.Replace(stream, "best", "demo/m-alpha", 1), "User-Agent", "x", "X-OmniRoute-Connection", "nobody")
		first := p.Post("/v1/messages", strings.Replace(scenario.NoStream(scenario.Messages), "m1", "m-alpha", 1))
		if first.Status != 429 {
			t.Fatalf("got %d %s", first.Status, first.Body)
		}
		a := waiting(t, p.Kit, "/v1/messages", stream, 21*time.Second, "alpha")
		if a.Status != 200 || a.From() != "alpha" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("case 32 the combo opted out", func(t *testing.T) {
		p := newPool(t, scenario.StartWith(t, patient()), "priority", map[string]any{"comboCooldownWaitEnabled": false}, "alpha")
		p.Sim.Account("alpha").Script(limited(2 * time.Second))
		if a := p.Post("/v1/messages", stream); a.Status != 429 {
			t.Errorf("got %d", a.Status)
		}
	})
	t.Run("case 33 a combo cannot switch it on", func(t *testing.T) {
		p := newPool(t, scenario.StartWith(t, patient()), "priority", map[string]any{"comboCooldownWaitEnabled": true}, "alpha")
		if _, err := p.Facade().EditResilience(t.Context(), []byte(`{"comboCooldownWait":{"enabled":false}}`)); err != nil {
			t.Fatal(err)
		}
		p.Sim.Account("alpha").Script(limited(2 * time.Second))
		if a := p.Post("/v1/messages", stream); a.Status != 429 {
			t.Errorf("got %d", a.Status)
		}
	})
}

// Fusion and pipeline make one answer of several calls.
func TestComposedAnswers(t *testing.T) {
	t.Run("case 78 a panel and its judge", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "fusion", map[string]any{"judgeModel": "demo/m-gamma"}, "alpha", "beta", "gamma")
		a := p.Post("/v1/messages", strings.Replace(scenario.Messages, "m1", "best", 1))
		if a.Status != 200 || a.From() != "gamma" || !strings.Contains(a.Body, "message_start") {
			t.Fatalf("got %d from %q: %s", a.Status, a.From(), a.Body)
		}
		for _, n := range []string{"alpha", "beta"} {
			for _, r := range p.Sim.Account(n).Requests() {
				if strings.Contains(string(r.Body), `"stream"`) {
					t.Errorf("%s was asked for a stream", n)
				}
			}
		}
		rs := p.Sim.Account("gamma").Requests()
		if last := string(rs[len(rs)-1].Body); !strings.Contains(last, "Source 1") || !strings.Contains(last, `"stream":true`) {
			t.Errorf("the judge got %s", last)
		}
		if last := p.Last(); last.Result != "answered" || len(last.Trace) < 4 {
			t.Errorf("recorded as %s with %d steps", last.Result, len(last.Trace))
		}
	})
	t.Run("case 81 nobody answers", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "fusion", nil, "alpha", "beta")
		for _, n := range []string{"alpha", "beta"} {
			p.Sim.Account(n).Script(simulator.Status(500).Always())
		}
		if a := p.ask(); a.Status != 503 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("case 82 a pipeline", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "pipeline", nil, "alpha", "beta")
		a := p.Post("/v1/messages", strings.Replace(scenario.Messages, "m1", "best", 1))
		if a.Status != 200 || a.From() != "beta" {
			t.Fatalf("got %d from %q: %s", a.Status, a.From(), a.Body)
		}
		if body := string(p.Sim.Account("beta").Requests()[0].Body); !strings.Contains(body, "alpha") || !strings.Contains(body, `"stream":true`) {
			t.Errorf("the second step got %s", body)
		}
	})
	t.Run("case 83 a step fails", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "pipeline", nil, "alpha", "beta")
		p.Sim.Account("alpha").Script(simulator.Status(500).Always())
		if a := p.ask(); a.Status != 500 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
		if p.calls("beta") != 0 {
			t.Error("the next step was asked")
		}
	})
}

// Composed answers end as others do when nobody can be asked.
func TestComposedAnswersEndInWordsThatClientsKnow(t *testing.T) {
	for _, strategy := range []string{"fusion", "pipeline"} {
		t.Run(strategy+" meets limits only (ruling 41)", func(t *testing.T) {
			p := newPool(t, scenario.Start(t), strategy, nil, "alpha", "beta")
			for _, n := range []string{"alpha", "beta"} {
				p.Sim.Account(n).Script(simulator.Status(429).WithRetryAfter(time.Hour).Always())
			}
			for _, when := range []string{"while it is told", "afterwards"} {
				a := p.ask(claudeCode, "s")
				if a.Status != 429 || a.Header.Get("Retry-After") != "59" {
					t.Errorf("%s: got %d, Retry-After %q: %s", when, a.Status, a.Header.Get("Retry-After"), a.Body)
				}
			}
		})
	}
	for _, status := range []int{401, 402, 403} {
		t.Run("ruling 43 a step of a pipeline is refused with "+strconv.Itoa(status), func(t *testing.T) {
			p := newPool(t, scenario.Start(t), "pipeline", nil, "alpha", "beta")
			p.Sim.Account("alpha").Script(simulator.Status(status).Always())
			if a := p.ask(); a.Status != 502 {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
	t.Run("everybody is overloaded", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta")
		for _, n := range []string{"alpha", "beta"} {
			p.Sim.Account(n).Script(simulator.Status(529).Always())
		}
		a := p.ask()
		if a.Status != 503 || a.Header.Get("Retry-After") == "" || strings.Contains(a.Body, "overloaded_error") {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}

// A request for an unknown combo is a request for a model.
func TestAutoNameTakesEverybody(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.Models = []string{"m1"} })
	a := k.Post("/v1/messages", strings.Replace(scenario.NoStream(scenario.Messages), "m1", "auto", 1))
	if a.Status != http.StatusOK || a.From() != "alpha" {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	if last := k.Last(); last.Combo != "auto" {
		t.Errorf("recorded as combo %q", last.Combo)
	}
}

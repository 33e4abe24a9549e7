package exchange

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

const forCombo = `{"model":"c","messages":[{"role":"user","content":"hi"}]}`

// What becomes of a request for a combo.
func TestACombo(t *testing.T) {
	gateway := fails(http.StatusBadGateway, outcome.ReasonServerError, scoped(outcome.ScopeModel))
	overflow := fails(http.StatusBadRequest, outcome.ReasonRequestInvalid, scoped(outcome.ScopeRequest), func(r *attempt.Result) {
		r.Outcome.Class, r.Body = outcome.Neutral, []byte(`{"error":{"message":"prompt is too long: context length exceeded"}}`)
	})
	slow := func(ctx context.Context, _ attempt.Target, _ attempt.Client) attempt.Result {
		<-ctx.Done()
		return attempt.Result{End: attempt.Failed, Code: combo.CodeTargetTimeout, Outcome: outcome.Outcome{
			Class: outcome.Neutral, Scope: outcome.ScopeLocal, Reason: outcome.ReasonLocalTimeout, Fallback: true,
		}}
	}
	config := func(kv ...any) map[string]any {
		m := map[string]any{"maxRetries": 0.0}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		name     string
		strategy combo.Name
		config   map[string]any
		steps    []string
		a, b     script
		edit     func(*rig)
		status   int
		result   string
		trace    string
	}{
		{name: "the first target answers", a: answers, b: answers, status: 200, result: "answered", trace: "answered:a"},
		{name: "the next target answers", a: limited(time.Minute), b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "a fault before the answer", a: panics, b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "a broken answer", a: breaks, b: answers, status: 200, result: "truncated", trace: "cut:a"},
		{name: "none answers", a: gateway, b: gateway, status: 502, result: "refused", trace: "failed:a failed:b refused"},
		{name: "all are limited", a: limited(time.Hour), b: limited(time.Hour), status: 429, result: "refused", trace: "failed:a failed:b refused"},
		{name: "a retry of the same target", config: config("maxRetries", 1.0, "retryDelayMs", 10.0), a: gateway, b: answers, status: 200, result: "answered", trace: "failed:a failed:a answered:b"},
		{name: "a retry of the set", config: config("maxSetRetries", 1.0, "setRetryDelayMs", 10.0), a: gateway, b: gateway, status: 502, result: "refused", trace: "failed:a failed:b failed:a failed:b refused"},
		{name: "the ceiling on attempts", config: config("maxGlobalAttempts", 1.0), a: gateway, b: answers, status: 503, result: "refused", trace: "failed:a refused"},
		{name: "a pause before the next target", config: config("fallbackDelayMs", 100.0), a: fails(502, outcome.ReasonServerError, cooling(time.Second)), b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "a target that takes too long", config: config("targetTimeoutMs", 1000.0), a: slow, b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "the same model fails alike", steps: []string{"p/m", "q/m"}, a: overflow, b: overflow, status: 400, result: "failed", trace: "failed:a"},
		{name: "a nested combo with nothing in it", config: config("nestedComboMode", "execute"), edit: func(k *rig) {
			k.addCombo("inner", combo.Priority, nil, "nowhere/m")
			k.combos["c"].Steps = append([]combo.Step{{Kind: combo.KindRef, Combo: "inner", ID: "i"}}, k.combos["c"].Steps...)
		}, a: answers, b: answers, status: 200, result: "answered", trace: "answered:a"},
		{name: "a key that is missing", edit: func(k *rig) {
			k.passed = []control.Passed{{Route: k.routes[1], Reason: exclusion.KeyMissing}}
		}, a: answers, b: answers, status: 200, result: "answered", trace: "skipped:b answered:a"},
		{name: "a combo that leads nowhere", steps: []string{"nowhere/m"}, status: 503, result: "refused", trace: "refused"},
		{name: "round robin", strategy: combo.RoundRobin, a: answers, b: answers, status: 200, result: "answered", trace: "answered:a"},
		{name: "round robin after a limit", strategy: combo.RoundRobin, a: limited(time.Minute), b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "round robin with a full gate", strategy: combo.RoundRobin, config: config("concurrencyPerModel", 1.0, "queueTimeoutMs", 1000.0), edit: func(k *rig) {
			c := k.combos["c"]
			p, refused := k.planner.Plan(c, &combo.Request{Now: time.Now()})
			if refused != nil {
				panic(refused)
			}
			_, err := k.gates.Acquire(context.Background(), time.Second, admission.Need{Key: admission.Key{
				Level: admission.Combo, Account: combo.GateKey("c", p.Order[0]),
			}, Cap: 1})
			if err != nil {
				panic(err)
			}
			p.Abandon(time.Now())
			k.planner.State = combo.NewState()
		}, a: answers, b: answers, status: 200, result: "answered", trace: "skipped:a answered:b"},
		{name: "quota share", strategy: combo.QuotaShare, a: answers, b: answers, edit: func(k *rig) { k.caps.Account = 1 }, status: 200, result: "answered", trace: "answered:a"},
		{name: "two random choices", strategy: combo.P2C, steps: []string{"p/m"}, a: answers, edit: func(k *rig) {
			k.connect("a2")
			k.headroom["a2"] = 80
		}, status: 200, result: "answered"},
		{name: "context relay", strategy: combo.ContextRelay, a: answers, b: answers, status: 200, result: "answered", trace: "answered:a"},
		{name: "weighted, all resting", strategy: combo.Weighted, a: limited(time.Hour), b: limited(time.Hour), status: 429, result: "refused", trace: "failed:a failed:b refused"},
		{name: "an automatic combo", a: answers, b: answers, edit: func(k *rig) { k.combos["c"].ID = "" }, status: 200, result: "answered", trace: "answered:a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b@q")
				k.on("a", tt.a)
				k.on("b", tt.b)
				if tt.steps == nil {
					tt.steps = []string{"p/m", "q/n"}
				}
				if tt.config == nil {
					tt.config = config()
				}
				if tt.strategy == "" {
					tt.strategy = combo.Priority
				}
				k.addCombo("c", tt.strategy, tt.config, tt.steps...)
				if tt.edit != nil {
					tt.edit(k)
				}
				w, row := k.ask(t, forCombo)
				if row.Status != tt.status || row.Result != tt.result || tt.trace != "" && kinds(row) != tt.trace || row.Combo != "c" {
					t.Errorf("got %d %s, %s; want %d %s, %s\n%s", row.Status, row.Result, kinds(row), tt.status, tt.result, tt.trace, w.body.String())
				}
			})
		})
	}
}

// A combo waits for targets that rest for a short while, before it asks any and
// after all have failed.
func TestAComboWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, k *rig)
		trace string
	}{
		{"before the first attempt", func(t *testing.T, k *rig) {
			for _, id := range []string{"a", "b"} {
				k.on(id, limited(4*time.Second), answers)
				k.ask(t, messages, header(HeaderPin, id))
			}
		}, "skipped:a skipped:b waited answered:a"},
		{"after all have failed", func(_ *testing.T, k *rig) {
			k.on("a", limited(4*time.Second), answers)
			k.on("b", limited(4*time.Second), answers)
		}, "failed:a failed:b waited answered:a"},
		{"a target that is back meanwhile", func(t *testing.T, k *rig) {
			k.on("a", limited(4*time.Second), answers)
			k.ask(t, messages, header(HeaderPin, "a"))
			k.on("b", func(ctx context.Context, to attempt.Target, c attempt.Client) attempt.Result {
				_ = admission.Sleep(ctx, 10*time.Second)
				return overloaded(ctx, to, c)
			})
		}, "skipped:a failed:b answered:a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b@q")
				k.settings.ComboCooldownWait = settings.ComboCooldownWait{Enabled: true, MaxWaitMs: 30_000, MaxAttempts: 3, BudgetMs: 60_000}
				k.addCombo("c", combo.Priority, map[string]any{"maxRetries": 0.0}, "p/m", "q/m")
				tt.setup(t, k)
				if _, row := k.ask(t, forCombo); row.Status != 200 || kinds(row) != tt.trace {
					t.Errorf("%d %s", row.Status, kinds(row))
				}
				k.idle(t)
			})
		})
	}
}

// A client that leaves during a pause of a combo is booked as such, and nothing
// is written after it.
func TestAClientLeavesACombo(t *testing.T) {
	for name, config := range map[string]map[string]any{
		"before a retry":            {"maxRetries": 1.0, "retryDelayMs": 30_000.0},
		"before a retry of the set": {"maxRetries": 0.0, "maxSetRetries": 1.0, "setRetryDelayMs": 30_000.0},
		"before the next target":    {"maxRetries": 0.0, "fallbackDelayMs": 4_000.0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b@q")
				k.addCombo("c", combo.Priority, config, "p/m", "q/m")
				gateway := fails(http.StatusBadGateway, outcome.ReasonServerError, scoped(outcome.ScopeModel), func(r *attempt.Result) {
					r.Outcome.Cooldown = 4 * time.Second
				})
				if config["fallbackDelayMs"] == nil {
					gateway = fails(http.StatusBadGateway, outcome.ReasonServerError, scoped(outcome.ScopeModel))
				}
				k.on("a", gateway)
				k.on("b", gateway)
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				w := k.serve(ctx, request(t, forCombo))
				if row := k.row(t); row.Status != 499 || !w.abort || w.late > 0 || !strings.HasSuffix(kinds(row), "left") {
					t.Errorf("%d %s, abort %v, %d bytes late", row.Status, kinds(row), w.abort, w.late)
				}
				k.idle(t)
			})
		})
	}
}

// The combo's own changes reach every target: its system message, and the tools
// that its filter keeps.
func TestAComboChangesTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		c := k.addCombo("c", combo.Priority, nil, "p/m")
		c.SystemMessage, c.ToolFilter = "be brief", "^keep"
		_, row := k.ask(t, `{"model":"c","messages":[{"role":"user","content":"hi"}],"tools":[{"name":"keep_it"},{"name":"drop_it"}]}`)
		if row.Status != 200 {
			t.Fatalf("%d %s", row.Status, kinds(row))
		}
		sent := string(k.requests[0].Body.Raw)
		if !strings.Contains(sent, "be brief") || !strings.Contains(sent, "keep_it") || strings.Contains(sent, "drop_it") {
			t.Error(sent)
		}
		c.ToolFilter = "("
		if _, row := k.ask(t, forCombo); row.Status != 200 {
			t.Errorf("a filter that does not compile: %d", row.Status)
		}
	})
}

// What the combo requires of a whole answer is left to the attempt; a call of a
// tool always passes.
func TestAComboChecksAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		k.addCombo("c", combo.Priority, map[string]any{"responseValidation": map[string]any{
			"requiredSubstrings": []any{"hello"}, "jsonPathPredicates": []any{map[string]any{"path": "content", "exists": true}},
		}}, "p/m")
		if _, row := k.ask(t, forCombo); row.Status != 200 {
			t.Fatalf("%d", row.Status)
		}
		valid := k.targets[0].Valid
		for doc, want := range map[string]bool{
			answerText: true,
			`{"content":[{"type":"text","text":"bye"}]}`:              false,
			`{"content":[{"type":"tool_use","name":"t","input":{}}]}`: true,
		} {
			if valid([]byte(doc)) != want {
				t.Errorf("%s: %v", doc, !want)
			}
		}
	})
}

// Fusion asks its panel and lets a judge answer; what it costs is the request's.
func TestFusion(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config map[string]any
		edit   func(*rig)
		status int
		last   string // who gives the answer
	}{
		{"the first of the panel judges", nil, nil, 200, "a m"},
		{"a member of the panel judges", map[string]any{"judgeModel": "q/m"}, nil, 200, "b m"},
		{"a judge beside the panel", map[string]any{"judgeModel": "r/j"}, nil, 200, "d j"},
		{"a judge that leads nowhere", map[string]any{"judgeModel": "nowhere/j"}, nil, 503, ""},
		{"a member fails", nil, func(k *rig) { k.on("b", limited(time.Minute)) }, 200, "a m"},
		{"a member breaks off", nil, func(k *rig) { k.on("b", breaks) }, 200, "a m"},
		{"all members fail", nil, func(k *rig) {
			k.on("a", limited(time.Hour))
			k.on("b", limited(time.Hour))
		}, 429, ""},
		{"the judge fails", nil, func(k *rig) { k.on("a", answers, overloaded) }, 503, ""},
		{"the judge breaks off", nil, func(k *rig) { k.on("a", answers, breaks) }, 200, "a m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b@q", "d@r")
				k.addCombo("c", combo.Fusion, tt.config, "p/m", "q/m")
				if tt.edit != nil {
					tt.edit(k)
				}
				w, row := k.ask(t, forCombo)
				if row.Status != tt.status || tt.last != "" && k.asked[len(k.asked)-1] != tt.last {
					t.Errorf("%d %s, asked %v\n%s", row.Status, kinds(row), k.asked, w.body.String())
				}
				if row.Result == resultAnswered && (w.heads != 1 || w.body.String() != answerText) {
					t.Errorf("%d heads, %q", w.heads, w.body.String())
				}
				k.idle(t)
			})
		})
	}
}

// Pipeline hands the text of each step to the next.
func TestPipeline(t *testing.T) {
	for _, tt := range []struct {
		name   string
		a, b   script
		status int
		asked  int
	}{
		{"all answer", answers, answers, 200, 2},
		{"the first fails", limited(time.Minute), answers, 429, 1},
		{"the first is silent", says(`{"content":[]}`), answers, 502, 1},
		{"the last fails", answers, overloaded, 503, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b@q")
				k.on("a", tt.a)
				k.on("b", tt.b)
				k.addCombo("c", combo.Pipeline, map[string]any{"maxRetries": 0.0}, "p/m", "q/m")
				w, row := k.ask(t, forCombo)
				if row.Status != tt.status || len(k.asked) != tt.asked {
					t.Errorf("%d %s, asked %v\n%s", row.Status, kinds(row), k.asked, w.body.String())
				}
				if tt.status == 200 && !strings.Contains(string(k.requests[1].Body.Raw), "hello") {
					t.Errorf("the second step got %s", k.requests[1].Body.Raw)
				}
				k.idle(t)
			})
		})
	}
}

// A client that leaves while a panel answers is booked as such.
func TestAClientLeavesAFusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b@q")
		slow := func(ctx context.Context, to attempt.Target, c attempt.Client) attempt.Result {
			if admission.Sleep(ctx, time.Minute) != nil {
				return attempt.Result{End: attempt.Left}
			}
			return answers(ctx, to, c)
		}
		k.on("a", slow)
		k.on("b", slow)
		k.addCombo("c", combo.Fusion, nil, "p/m", "q/m")
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		w := k.serve(ctx, request(t, forCombo))
		synctest.Wait()
		if row := k.row(t); row.Status != 499 || !w.abort || w.late > 0 {
			t.Errorf("%d %s, abort %v", row.Status, kinds(row), w.abort)
		}
		k.idle(t)
	})
}

// An OAuth target with several accounts gives a new session the one on which the
// fewest sit (ruling 53).
func TestSessionsSpreadOverAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig()
		oauth := func(r *control.Route) { r.Provider.Profile = settings.OAuth }
		k.connect("a", oauth)
		k.connect("b", oauth)
		k.addCombo("c", combo.Priority, nil, "p/m")
		for _, s := range []string{"s1", "s2", "s1"} {
			k.ask(t, forCombo, header("X-Session-Id", s))
		}
		if got := strings.Join(k.asked, ","); got != "a m,b m,a m" {
			t.Error(got)
		}
	})
}

// A dialect's own fields name session, cache key and needs, none of which keeps a
// combo from answering.
func TestWhatARequestSaysOfItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b@q")
		k.addCombo("c", combo.ContextRelay, nil, "p/m", "q/m")
		for _, body := range []string{
			`{"model":"c","metadata":{"tags":["x"],"tag_match_mode":"all","session_id":"s"},"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]}`,
			`{"model":"c","messages":[]}`,
		} {
			if _, row := k.ask(t, body, header(headerMode, "fast"), header(headerBudget, "0.5")); row.Status != 200 {
				t.Errorf("%s: %d %s", body, row.Status, kinds(row))
			}
		}
		if _, row := k.ask(t, `{"model":"c","input":"hi"}`, func(r *Request) { r.Dialect = dialect.Responses }); row.Status != 200 {
			t.Errorf("%d", row.Status)
		}
	})
}

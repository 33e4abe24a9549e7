package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/proxy/control"
)

var (
	zone = time.FixedZone("CET", 3600)
	t0   = time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)
)

func opened(p string, until time.Duration) control.Alert {
	return control.Alert{Kind: control.AlertBreakerOpen, Provider: p, ProviderName: strings.ToUpper(p), Until: new(t0.Add(until))}
}

func closed(p string) control.Alert {
	return control.Alert{Kind: control.AlertBreakerClosed, Provider: p, ProviderName: strings.ToUpper(p)}
}

func ended(p, conn string, s control.State) control.Alert {
	return control.Alert{
		Kind: control.AlertTerminal, Provider: p, ProviderName: strings.ToUpper(p),
		ConnectionID: conn, ConnectionName: conn, State: s,
	}
}

func empty(dialect string, until time.Duration) control.Alert {
	return control.Alert{Kind: control.AlertNothingLeft, Dialect: dialect, Until: new(t0.Add(until))}
}

// step is an alert, or a mark that something serves again, at a time.
type step struct {
	at    time.Duration
	alert control.Alert
	back  bool
}

// play runs the policy through the steps and notes what is sent and when.
func play(steps []step) []string {
	p := NewPolicy(zone)
	var out []string
	flush := func(until time.Time) {
		for {
			due, ok := p.Due()
			if !ok || due.After(until) {
				return
			}
			for _, m := range p.Flush(due) {
				out = append(out, fmt.Sprintf("%v [%s] %s | %s", due.Sub(t0), m.Key, m.Title, strings.ReplaceAll(m.Body, "\n", " / ")))
			}
		}
	}
	for _, s := range steps {
		now := t0.Add(s.at)
		flush(now)
		if s.back {
			p.Recovered()
		} else {
			p.Add(now, s.alert)
		}
	}
	flush(t0.Add(1000 * time.Hour))
	return out
}

func TestPolicy(t *testing.T) {
	const s, m = time.Second, time.Minute
	for _, c := range []struct {
		name  string
		steps []step
		want  []string
	}{
		{"an open breaker", []step{{0, opened("a", 80*m), false}}, []string{
			"1s [provider/a] A: breaker open | It failed too often and is left alone for a while. Next probe at 16:20.",
		}},
		{"a near probe", []step{{0, opened("a", 61*s), false}}, []string{
			"1s [provider/a] A: breaker open | It failed too often and is left alone for a while. Next probe in 60 s.",
		}},
		{"a probe in some minutes", []step{{0, opened("a", 5*m), false}}, []string{
			"1s [provider/a] A: breaker open | It failed too often and is left alone for a while. Next probe at 15:05.",
		}},
		{"a probe tomorrow", []step{{0, opened("a", 20*60*m), false}}, []string{
			"1s [provider/a] A: breaker open | It failed too often and is left alone for a while. Next probe Wed 11:00.",
		}},
		{"a probe that is over", []step{{0, opened("a", 0), false}}, []string{
			"1s [provider/a] A: breaker open | It failed too often and is left alone for a while.",
		}},
		{"a breaker that closes later", []step{{0, opened("a", m), false}, {2 * m, closed("a"), false}}, []string{
			"1s [provider/a] A: breaker open | It failed too often and is left alone for a while. Next probe in 59 s.",
			"2m1s [provider/a] A serves again | The probe succeeded and the breaker is closed.",
		}},
		{
			"many changes in a minute become one summary", []step{
				{0, opened("a", m), false},
				{10 * s, closed("a"), false},
				{20 * s, opened("a", 80*m), false},
				{30 * s, ended("a", "work", control.StateExpired), false},
			}, []string{
				"1s [provider/a] A: breaker open | It failed too often and is left alone for a while. Next probe in 59 s.",
				"1m1s [provider/a] A: 2 changes | A: breaker open / A · work: expired It changed 2 times in the last minute.",
			},
		},
		{
			"each terminal state has its words", []step{
				{0, ended("a", "x", control.StateBanned), false},
				{0, ended("b", "y", control.StateCreditsExhausted), false},
			}, []string{
				"1s [provider/a] A · x: banned | The provider has blocked this account. Requests skip it until you replace it and test it again.",
				"1s [provider/b] B · y: no credit | The account has no credit left. Requests skip it until you top it up and test it again.",
			},
		},
		{"three providers at once are one message", []step{
			{0, opened("a", m), false}, {300 * time.Millisecond, opened("b", m), false}, {500 * time.Millisecond, opened("c", m), false},
		}, []string{
			"1s [summary] 3 providers changed | A: breaker open / B: breaker open / C: breaker open",
		}},
		{"nothing left takes the rest in", []step{
			{0, opened("a", m), false}, {0, empty("anthropic", 80*m), false},
		}, []string{
			"1s [nothing-left] Nothing left to serve | No connection can take a request (anthropic). The next one comes back at 16:20. / A: breaker open",
		}},
		{"nothing left is told once", []step{
			{0, empty("anthropic", m), false}, {5 * s, empty("anthropic", m), false}, {3 * m, empty("anthropic", 4*m), false},
		}, []string{
			"1s [nothing-left] Nothing left to serve | No connection can take a request (anthropic). The next one comes back in 59 s.",
		}},
		{"nothing left is news after something came back", []step{
			{0, empty("anthropic", m), false}, {2 * m, control.Alert{}, true}, {3 * m, empty("anthropic", 0), false},
		}, []string{
			"1s [nothing-left] Nothing left to serve | No connection can take a request (anthropic). The next one comes back in 59 s.",
			"3m1s [nothing-left] Nothing left to serve | No connection can take a request (anthropic).",
		}},
		{"two dialects are named together", []step{
			{0, empty("anthropic", 2*m), false}, {0, empty("chat", m), false},
		}, []string{
			"1s [nothing-left] Nothing left to serve | No connection can take a request (anthropic, chat). The next one comes back in 59 s.",
		}},
		{"an unknown kind is silent", []step{{0, control.Alert{Kind: "new"}, false}}, nil},
		{"a name cannot break the line", []step{{0, ended("a", "x\n\n$(rm)\x1b", control.StateExpired), false}}, []string{
			"1s [provider/a] A · x $(rm): expired | The provider no longer accepts this credential. Requests skip it until you renew it in Breakwater.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := play(c.steps)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestPolicyKeepsItsPromises plays random alerts: never two messages about a
// provider within a minute, nothing pending for ever, nothing upstream said.
func TestPolicyKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPolicy(zone)
		now := t0
		last := map[string]time.Time{}
		flush := func() {
			for _, m := range p.Flush(now) {
				if before, ok := last[m.Key]; ok && now.Sub(before) < quiet && m.Key != "summary" {
					t.Fatalf("%s twice within %v", m.Key, now.Sub(before))
				}
				last[m.Key] = now
				if m.Title == "" || m.Body == "" || m.Key == "" {
					t.Fatalf("an empty part in %+v", m)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "alerts") {
			provider := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "provider")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				p.Add(now, opened(provider, time.Hour))
			case 1:
				p.Add(now, closed(provider))
			case 2:
				p.Add(now, ended(provider, provider+"1", control.StateExpired))
			case 3:
				p.Add(now, empty(provider, time.Hour))
			default:
				p.Recovered()
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "pause")))
			flush()
		}
		for n := 0; ; n++ {
			due, ok := p.Due()
			if !ok {
				break
			}
			if n > 20 || due.After(now.Add(quiet+settle)) {
				t.Fatalf("still something due at %v", due)
			}
			if due.After(now) {
				now = due
			}
			flush()
		}
		if len(p.sent) > 5 || len(p.empty) > 4 {
			t.Fatal("the policy remembers more than there is")
		}
	})
}

func TestDropForgetsWhatWaits(t *testing.T) {
	p := NewPolicy(zone)
	p.Add(t0, opened("a", time.Minute))
	p.Drop()
	if _, ok := p.Due(); ok || len(p.Flush(t0.Add(time.Hour))) != 0 {
		t.Error("something still waits")
	}
}

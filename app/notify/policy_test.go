package notify

import (
	"fmt"
	"slices"
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

// everything is what is told before the user chooses.
var everything = control.DefaultSettings().Notify

func lanes(kind control.AlertKind, reason string, until time.Duration) control.Alert {
	return control.Alert{
		Kind: kind, Provider: "a", ProviderName: "A", ConnectionID: "id1", ConnectionName: "work", Reason: reason, Until: new(t0.Add(until)),
	}
}

func low(window string, left int, until time.Duration) control.Alert {
	a := lanes(control.AlertQuotaLow, "", until)
	a.Window, a.PercentLeft = window, &left
	return a
}

func resting(combo string, until time.Duration) control.Alert {
	a := empty("anthropic", until)
	a.Combo = combo
	return a
}

// world is how things stand: an alert that comes makes them so. A spare
// connection of other models serves all the time.
type world struct{ snap control.Snapshot }

func newWorld() *world {
	return &world{control.Snapshot{Connections: []control.Connection{serving("spare", "spare", "spare", "d")}}}
}

// serving is a connection that takes requests.
func serving(id, provider, name string, dialects ...string) control.Connection {
	return control.Connection{
		ID: id, Provider: provider, ProviderName: strings.ToUpper(provider), Name: name, Active: true,
		Dialects: dialects, State: control.StateServing,
	}
}

// present is how things stand at now: what had a deadline is over then.
func (w *world) present(now time.Time) Present {
	over := func(t *time.Time) bool { return t != nil && !t.After(now) }
	for i := range w.snap.Connections {
		c := &w.snap.Connections[i]
		if c.State == control.StateCooling && over(c.Until) {
			c.State, c.Until = control.StateServing, nil
		}
		if c.Lane != nil && over(c.Lane.Until) {
			c.Lane = nil
		}
	}
	for i := range w.snap.Breakers {
		if b := &w.snap.Breakers[i]; b.State == "OPEN" && over(b.Until) {
			b.State, b.Until = "HALF_OPEN", nil
		}
	}
	return Present{Snapshot: w.snap, Rests: func(string) bool { return true }}
}

// connection finds one, or adds it.
func (w *world) connection(id, provider, name string, dialects ...string) *control.Connection {
	for i := range w.snap.Connections {
		if w.snap.Connections[i].ID == id {
			return &w.snap.Connections[i]
		}
	}
	w.snap.Connections = append(w.snap.Connections, serving(id, provider, name, dialects...))
	return &w.snap.Connections[len(w.snap.Connections)-1]
}

func (w *world) breaker(provider, state string, until *time.Time) {
	c := w.connection("of "+provider, provider, "main", "d")
	if c.State = control.StateServing; state == "OPEN" {
		c.State = control.StateOpen
	}
	w.snap.Breakers = slices.DeleteFunc(slices.Clone(w.snap.Breakers), func(b control.Breaker) bool { return b.Provider == provider })
	w.snap.Breakers = append(w.snap.Breakers, control.Breaker{Provider: provider, State: state, Until: until})
}

func (w *world) apply(a control.Alert) {
	switch a.Kind {
	case control.AlertBreakerOpen:
		w.breaker(a.Provider, "OPEN", a.Until)
	case control.AlertBreakerClosed:
		w.breaker(a.Provider, "CLOSED", nil)
	case control.AlertTerminal:
		w.connection(a.ConnectionID, a.Provider, a.ConnectionName, "d").State = a.State
	case control.AlertNothingLeft:
		if a.Combo != "" {
			w.snap.Combos = append(w.snap.Combos, control.ComboBrief{Name: a.Combo, Active: true})
			return
		}
		c := w.connection("for "+a.Dialect, "lab", a.Dialect, a.Dialect)
		c.State, c.Until = control.StateCooling, a.Until
	case control.AlertLaneEntered:
		w.connection(a.ConnectionID, a.Provider, a.ConnectionName, "d").Lane = &control.ClaudeLane{State: "active", Until: a.Until}
	case control.AlertLaneEnded:
		w.connection(a.ConnectionID, a.Provider, a.ConnectionName, "d").Lane = nil
	case control.AlertResetClaimed, control.AlertResetUnavailable, control.AlertQuotaLow:
		w.connection(a.ConnectionID, a.Provider, a.ConnectionName, "d")
	}
}

// recover brings everything back that rests.
func (w *world) recover() {
	for i := range w.snap.Connections {
		if c := &w.snap.Connections[i]; c.State == control.StateCooling {
			c.State, c.Until = control.StateServing, nil
		}
	}
}

// step is an alert, or a mark that something serves again, at a time.
type step struct {
	at    time.Duration
	alert control.Alert
	back  bool
}

// play runs the policy through the steps and notes what is sent and when.
func play(steps []step, want control.NotificationSettings) []string {
	p, w := NewPolicy(zone), newWorld()
	var out []string
	flush := func(until time.Time) {
		for {
			due, ok := p.Due()
			if !ok || due.After(until) {
				return
			}
			for _, m := range p.Flush(due, want, w.present(due)) {
				out = append(out, fmt.Sprintf("%v [%s] %s | %s", due.Sub(t0), m.Key, m.Title, strings.ReplaceAll(m.Body, "\n", " / ")))
			}
		}
	}
	for _, s := range steps {
		now := t0.Add(s.at)
		flush(now)
		if s.back {
			w.recover()
			p.Recovered()
		} else {
			w.apply(s.alert)
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
			"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe at 16:20.",
		}},
		{"a near probe", []step{{0, opened("a", 61*s), false}}, []string{
			"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe in 60 s.",
		}},
		{"a probe in some minutes", []step{{0, opened("a", 5*m), false}}, []string{
			"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe at 15:05.",
		}},
		{"a probe tomorrow", []step{{0, opened("a", 20*60*m), false}}, []string{
			"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe Wed 11:00.",
		}},
		{"a probe that is due", []step{{0, opened("a", 0), false}}, nil},
		{"a breaker that closes before it is told", []step{{0, opened("a", m), false}, {900 * time.Millisecond, closed("a"), false}}, nil},
		{"a breaker that closes later", []step{{0, opened("a", m), false}, {2 * m, closed("a"), false}}, []string{
			"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe in 59 s.",
			"2m1s [provider/a] A serves again | Its breaker is closed. Requests go to it again.",
		}},
		{
			"a breaker that flaps is told once, and what goes out of use at once", []step{
				{0, opened("a", m), false},
				{10 * s, closed("a"), false},
				{20 * s, opened("a", 80*m), false},
				{30 * s, ended("a", "work", control.StateExpired), false},
			}, []string{
				"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe in 59 s.",
				"31s [provider/a] A · work: expired | The provider no longer accepts this credential. Requests skip it until you renew it in Breakwater.",
			},
		},
		{
			"a breaker that closed and opens again is told at once", []step{
				{0, opened("a", m), false}, {70 * s, closed("a"), false}, {80 * s, opened("a", 80*m), false}, {85 * s, closed("a"), false},
			}, []string{
				"1s [provider/a] A: breaker open | Too many requests to it failed. Next probe in 59 s.",
				"1m11s [provider/a] A serves again | Its breaker is closed. Requests go to it again.",
				"1m21s [provider/a] A: breaker open | Too many requests to it failed. Next probe at 16:20.",
				"2m21s [provider/a] A serves again | Its breaker is closed. Requests go to it again.",
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
			"1s [nothing-left] No connection available | No connection for Anthropic Messages can take requests. LAB · anthropic is available again at 16:20. / A: breaker open",
		}},
		{"nothing left is told once", []step{
			{0, empty("anthropic", m), false}, {5 * s, empty("anthropic", m), false}, {3 * m, empty("anthropic", 4*m), false},
		}, []string{
			"1s [nothing-left] No connection available | No connection for Anthropic Messages can take requests. LAB · anthropic is available again in 59 s.",
		}},
		{"nothing left is news after something came back", []step{
			{0, empty("anthropic", m), false}, {2 * m, control.Alert{}, true}, {3 * m, empty("anthropic", 4*m), false},
		}, []string{
			"1s [nothing-left] No connection available | No connection for Anthropic Messages can take requests. LAB · anthropic is available again in 59 s.",
			"3m1s [nothing-left] No connection available | No connection for Anthropic Messages can take requests. LAB · anthropic is available again in 59 s.",
		}},
		{"two dialects are named together", []step{
			{0, empty("anthropic", 2*m), false}, {0, empty("chat", m), false},
		}, []string{
			"1s [nothing-left] No connection available | No connection for Anthropic Messages, OpenAI Chat Completions can take requests. LAB · chat is available again in 59 s.",
		}},
		{"a lane and its end", []step{
			{0, lanes(control.AlertLaneEntered, "", 80*m), false}, {2 * m, lanes(control.AlertLaneEnded, "weekly", 0), false},
		}, []string{
			"1s [provider/a] A · work: low-priority lane | Its limit is reached. Requests go on at low priority and may wait for a slot. The limit resets at 16:20.",
			"2m1s [provider/a] A · work: low-priority lane ended | The weekly limit is reached, too.",
		}},
		{"a lane that the user ended", []step{{0, lanes(control.AlertLaneEnded, "operator", 0), false}}, nil},
		{"a lane that came and went is told by its end", []step{
			{0, lanes(control.AlertLaneEntered, "", 80*m), false}, {100 * time.Millisecond, lanes(control.AlertLaneEnded, "max_wait", 0), false},
		}, []string{"1s [provider/a] A · work: low-priority lane ended | No slot came free in time."}},
		{"a limit reset", []step{{0, lanes(control.AlertResetClaimed, "reset", 20*60*m), false}}, []string{
			"1s [provider/a] A · work: limit reset used | Requests go on as usual. The next one can be asked for Wed 11:00.",
		}},
		{"a reset that was used is told once", []step{
			{0, lanes(control.AlertResetUnavailable, "already_used", 200*m), false},
			{3 * m, lanes(control.AlertResetUnavailable, "already_used", 200*m), false},
			{199 * m, lanes(control.AlertResetUnavailable, "already_used", 200*m), false},
			{210 * m, lanes(control.AlertResetUnavailable, "error", 0), false},
		}, []string{
			"1s [provider/a] A · work: no limit reset | It was used already. The next one can be asked for at 18:20.",
			"3h30m1s [provider/a] A · work: no limit reset | It could not be asked for.",
		}},
		{"a quota below the warning is told once until it resets", []step{
			{0, low("session", 18, 80*m), false},
			{10 * m, low("session", 12, 80*m), false},
			{10 * m, low("weekly:opus", 5, 20*60*m), false},
			{90 * m, low("session", 20, 300*m), false},
		}, []string{
			"1s [provider/a] A · work: 18 % of the quota left | Its five-hour window is nearly used up. It resets at 16:20.",
			"10m1s [provider/a] A · work: 5 % of the quota left | Its weekly window is nearly used up. It is for opus models. It resets Wed 11:00.",
			"1h30m1s [provider/a] A · work: 20 % of the quota left | Its five-hour window is nearly used up. It resets at 20:00.",
		}},
		{"all targets of a combo rest", []step{
			{0, resting("fast", 80*m), false}, {0, resting("cheap", 20*m), false}, {100 * time.Millisecond, resting("fast", 80*m), false},
		}, []string{
			"1s [nothing-left] No connection available | No target is available: fast, cheap. The next one is available at 15:20.",
		}},
		{"a combo beside a dialect", []step{{0, resting("fast", 80*m), false}, {0, empty("chat", 90*m), false}}, []string{
			"1s [nothing-left] No connection available | No target is available: fast. No connection for OpenAI Chat Completions can take requests. The next one is available at 16:20.",
		}},
		{"an unknown kind is silent", []step{{0, control.Alert{Kind: "new"}, false}}, nil},
		{"a name cannot break the line", []step{{0, ended("a", "x\n\n$(rm)\x1b", control.StateExpired), false}}, []string{
			"1s [provider/a] A · x $(rm): expired | The provider no longer accepts this credential. Requests skip it until you renew it in Breakwater.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := play(c.steps, everything)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestPolicyListensToTheUser tries the switches and the quiet hours; t0 is
// 15:00 in the zone.
func TestPolicyListensToTheUser(t *testing.T) {
	const m, h = time.Minute, time.Hour
	each := []step{
		{0, opened("a", h), false},
		{2 * m, ended("a", "work", control.StateBanned), false},
		{4 * m, empty("chat", 50*m), false},
		{6 * m, lanes(control.AlertLaneEntered, "", h), false},
		{8 * m, lanes(control.AlertResetClaimed, "reset", h), false},
		{10 * m, low("weekly", 9, h), false},
	}
	for _, c := range []struct {
		name  string
		want  func(*control.NotificationSettings)
		steps []step
		told  []string // when, and the title
	}{
		{"all", func(*control.NotificationSettings) {}, each, []string{
			"1s A: breaker open", "2m1s A · work: banned", "4m1s No connection available", "6m1s A · work: low-priority lane", "8m1s A · work: limit reset used", "10m1s A · work: 9 % of the quota left",
		}},
		{"no breakers, no lanes", func(n *control.NotificationSettings) { n.Breakers, n.Lane = false, false }, each, []string{
			"2m1s A · work: banned", "4m1s No connection available", "8m1s A · work: limit reset used", "10m1s A · work: 9 % of the quota left",
		}},
		{"lanes only", func(n *control.NotificationSettings) { *n = control.NotificationSettings{Lane: true} }, each, []string{"6m1s A · work: low-priority lane"}},
		{"nothing", func(n *control.NotificationSettings) { *n = control.NotificationSettings{} }, each, nil},
		{"quiet from 15:00 to 16:00: what still holds, in one message", func(n *control.NotificationSettings) { n.QuietFrom, n.QuietUntil = "15:00", "16:00" }, append(each,
			step{20 * m, opened("b", 70*m), false}, step{30 * m, opened("c", 70*m), false}, step{40 * m, closed("c"), false}), []string{
			"1h0m0s In your quiet hours / A: 2 changes / B: breaker open",
		}},
		{"quiet, and one thing left", func(n *control.NotificationSettings) { n.QuietFrom, n.QuietUntil = "14:30", "16:00" }, []step{{0, ended("a", "work", control.StateBanned), false}}, []string{
			"1h0m0s A · work: banned",
		}},
		{"quiet, and all is well again", func(n *control.NotificationSettings) { n.QuietFrom, n.QuietUntil = "14:30", "16:00" }, []step{
			{0, opened("a", h), false}, {m, empty("chat", 2*h), false}, {2 * m, closed("a"), false}, {3 * m, control.Alert{}, true},
		}, nil},
		{"quiet begins later", func(n *control.NotificationSettings) { n.QuietFrom, n.QuietUntil = "15:05", "16:00" }, []step{
			{0, opened("a", h), false}, {6 * m, ended("a", "work", control.StateBanned), false},
		}, []string{"1s A: breaker open", "1h0m0s A · work: banned"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := everything
			c.want(&want)
			var told []string
			for _, line := range play(c.steps, want) {
				at, rest, _ := strings.Cut(line, " [")
				_, rest, _ = strings.Cut(rest, "] ")
				title, body, _ := strings.Cut(rest, " | ")
				if title == "In your quiet hours" {
					title += " / " + body
				}
				told = append(told, at+" "+title)
			}
			if strings.Join(told, "\n") != strings.Join(c.told, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(c.told, "\n"))
			}
		})
	}
}

// TestAQuietNightKeepsLittle opens and closes breakers all night: what waits is
// the last news of each thing, not all of it.
func TestAQuietNightKeepsLittle(t *testing.T) {
	p := NewPolicy(zone)
	want := everything
	want.QuietFrom, want.QuietUntil = "14:00", "22:00"
	for i := range 2000 {
		now := t0.Add(time.Duration(i) * time.Second)
		p.Add(now, opened("a", time.Hour))
		p.Add(now, closed("a"))
		p.Add(now, ended("a", "work", control.StateBanned))
		if ms := p.Flush(now.Add(2*time.Second), want, newWorld().present(now)); ms != nil {
			t.Fatalf("told at %v: %+v", now, ms)
		}
	}
	if n := len(p.pending["a"].alerts); n != 1 {
		t.Errorf("%d alerts are kept", n)
	}
}

// TestEveryMessageLeadsSomewhere checks where a click on each kind goes.
func TestEveryMessageLeadsSomewhere(t *testing.T) {
	for _, c := range []struct {
		alert control.Alert
		page  string
	}{
		{opened("a", time.Hour), "overview"},
		{closed("a"), "overview"},
		{ended("a", "id7", control.StateExpired), "connections/id7"},
		{empty("chat", time.Hour), "cooldowns"},
		{lanes(control.AlertLaneEntered, "", time.Hour), "connections/id1"},
		{lanes(control.AlertLaneEnded, "reset", 0), "connections/id1"},
		{lanes(control.AlertResetClaimed, "reset", time.Hour), "connections/id1"},
		{lanes(control.AlertResetUnavailable, "error", 0), "connections/id1"},
		{low("monthly", 3, time.Hour), "connections/id1"},
	} {
		p, w := NewPolicy(zone), newWorld()
		w.apply(c.alert)
		p.Add(t0, c.alert)
		ms := p.Flush(t0.Add(settle), everything, w.present(t0.Add(settle)))
		if len(ms) != 1 || ms[0].Page != c.page || ms[0].Action == "" {
			t.Errorf("%s leads to %+v, want %s", c.alert.Kind, ms, c.page)
		}
	}
}

// TestPolicyKeepsItsPromises plays random alerts: never twice running within a
// minute that a breaker is open, what goes out of use within two seconds,
// nothing pending for ever.
func TestPolicyKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, w := NewPolicy(zone), newWorld()
		now := t0
		type message struct {
			at    time.Time
			title string
		}
		last := map[string]message{}
		add := func(a control.Alert) {
			w.apply(a)
			p.Add(now, a)
			due, ok := p.Due()
			if ok && urgent(a.Kind) && p.pending[group(a)] != nil && slices.ContainsFunc(p.pending[group(a)].alerts, func(b control.Alert) bool { return b.Kind == a.Kind }) && due.After(now.Add(2*time.Second)) {
				t.Fatalf("%s waits for %v", a.Kind, due.Sub(now))
			}
		}
		flush := func() {
			for _, m := range p.Flush(now, everything, w.present(now)) {
				if m.Key == "summary" || m.Key == "nothing-left" {
					clear(last) // it may have told more of a provider
				}
				if before, ok := last[m.Key]; ok && now.Sub(before.at) < quiet && before.title == m.Title && strings.HasSuffix(m.Title, "open") {
					t.Fatalf("%s twice within %v", m.Title, now.Sub(before.at))
				}
				last[m.Key] = message{now, m.Title}
				if m.Title == "" || m.Body == "" || m.Key == "" {
					t.Fatalf("an empty part in %+v", m)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "alerts") {
			provider := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "provider")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				add(opened(provider, time.Hour))
			case 1:
				add(closed(provider))
			case 2:
				add(ended(provider, provider+"1", control.StateExpired))
			case 3:
				add(empty(provider, time.Hour))
			default:
				w.recover()
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
	if _, ok := p.Due(); ok || len(p.Flush(t0.Add(time.Hour), everything, Present{})) != 0 {
		t.Error("something still waits")
	}
}

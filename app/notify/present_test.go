package notify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// TestMessagesSayWhatIsSo plays each alert over a state that has gone on since,
// and looks at what is said, if anything is.
func TestMessagesSayWhatIsSo(t *testing.T) {
	later, past := new(t0.Add(80*time.Minute)), new(t0)
	two := func(change func(*control.Snapshot)) control.Snapshot {
		s := control.Snapshot{Connections: []control.Connection{
			serving("work", "claude", "work", "anthropic"), serving("home", "claude", "home", "anthropic"),
		}}
		for i := range s.Connections {
			s.Connections[i].Offers = []string{"claude-*"}
		}
		s.Breakers = []control.Breaker{{Provider: "claude", State: "CLOSED"}}
		change(&s)
		return s
	}
	rest := func(c *control.Connection) { c.State, c.Until = control.StateCooling, later }
	lab := func(id, name string) control.Connection {
		c := serving(id, "custom", name, "chat")
		c.BaseURL = "http://127.0.0.1:9999/v1"
		return c
	}
	banned := control.Alert{Kind: control.AlertTerminal, Provider: "claude", ConnectionID: "work", ConnectionName: "an old name", State: control.StateBanned}
	attention, misplaced := banned, banned
	attention.State, misplaced.State = control.StateNeedsAttention, control.StateWrongAddress
	none := control.Alert{Kind: control.AlertNothingLeft, Dialect: "anthropic", Until: past}
	combo := control.Alert{Kind: control.AlertNothingLeft, Dialect: "chat", Combo: "fast", Until: past}
	lane := lanes(control.AlertLaneEntered, "", time.Hour)
	lane.ConnectionID = "work"
	left := lane
	left.Kind, left.Reason = control.AlertLaneEnded, "weekly"
	quota := low("session", 9, time.Hour)
	quota.ConnectionID = "work"
	for _, tt := range []struct {
		name  string
		alert control.Alert
		snap  control.Snapshot
		want  string // "" for nothing; else what title and body hold, parts divided by |
		not   string // what they must not hold
	}{
		{"terminal, another takes over", banned, two(func(s *control.Snapshot) { s.Connections[0].State = control.StateBanned }), "CLAUDE · work: banned|Requests go to CLAUDE · home.", "old name"},
		{"terminal, the other rests too", banned, two(func(s *control.Snapshot) { s.Connections[0].State = control.StateBanned; rest(&s.Connections[1]) }), "banned|No other connection can take its requests.", "Requests go to"},
		{"needs attention while it still rests", attention, two(func(s *control.Snapshot) {
			rest(&s.Connections[0])
			s.Connections[0].NeedsAttention = &control.Attention{}
		}), "CLAUDE · work: needs attention|asked last", "skip it"},
		{"needed attention, and has answered", attention, two(func(*control.Snapshot) {}), "", ""},
		{"a wrong address", misplaced, two(func(s *control.Snapshot) { s.Connections[0].State = control.StateWrongAddress }), "wrong address|until you correct the address", ""},
		{"terminal, the other is leased", banned, two(func(s *control.Snapshot) {
			s.Connections[0].State = control.StateBanned
			s.Connections[1].LeasedUntil = later
		}), "No other connection can take its requests.", ""},
		{"terminal, the other offers other models", banned, two(func(s *control.Snapshot) {
			s.Connections[0].State, s.Connections[1].Offers = control.StateBanned, []string{"opus*"}
		}), "banned", "Requests go to|No other"},
		{"terminal, the other speaks another API", banned, two(func(s *control.Snapshot) {
			s.Connections[0].State, s.Connections[1].Dialects = control.StateBanned, []string{"chat"}
		}), "No other connection can take its requests.", ""},
		{"terminal, a default model takes over", banned, two(func(s *control.Snapshot) {
			s.Connections[0].State, s.Connections[1] = control.StateBanned, serving("glm", "glm", "glm", "anthropic", "chat")
			s.Connections[1].DefaultModel = "glm-5"
		}), "Requests go to glm.", ""},
		{"terminal, the other leaves models out", banned, two(func(s *control.Snapshot) {
			s.Connections[0].State, s.Connections[1].ExcludedModels = control.StateBanned, []string{"*haiku*"}
		}), "banned", "Requests go to|No other"},
		{"terminal, the other takes any model", banned, two(func(s *control.Snapshot) {
			s.Connections[0].State, s.Connections[1].Offers = control.StateBanned, []string{"*"}
		}), "Requests go to CLAUDE · home.", ""},
		{"terminal, tested again meanwhile", banned, two(func(*control.Snapshot) {}), "", ""},
		{"terminal, another state meanwhile", banned, two(func(s *control.Snapshot) { s.Connections[0].State = control.StateExpired }), "", ""},
		{"terminal, deleted meanwhile", banned, two(func(s *control.Snapshot) { s.Connections = s.Connections[1:] }), "", ""},
		{"terminal, paused", banned, two(func(s *control.Snapshot) { s.Connections[0].State = control.StateBanned; s.Paused = true }), "banned", "Requests go to"},

		{"breaker open", opened("claude", 80*time.Minute), two(func(s *control.Snapshot) {
			s.Breakers[0] = control.Breaker{Provider: "claude", State: "OPEN", Until: later}
			s.Connections[0].State, s.Connections[1].State = control.StateOpen, control.StateOpen
		}), "CLAUDE: breaker open|at 16:20|No other connection can take its requests.", ""},
		{"breaker open, the probe is under way", opened("claude", 80*time.Minute), two(func(s *control.Snapshot) { s.Breakers[0].State = "HALF_OPEN" }), "", ""},
		{"breaker open, closed meanwhile", opened("claude", 80*time.Minute), two(func(*control.Snapshot) {}), "", ""},
		{"breaker open, its connections are off", opened("claude", 80*time.Minute), two(func(s *control.Snapshot) {
			s.Breakers[0] = control.Breaker{Provider: "claude", State: "OPEN", Until: later}
			for i := range s.Connections {
				s.Connections[i].State, s.Connections[i].Active = control.StateOff, false
			}
		}), "", ""},
		{"breaker open, of an address", opened("custom:127.0.0.1:9999", time.Hour), control.Snapshot{
			Connections: []control.Connection{lab("a", "Lab"), lab("b", "Attic")},
			Breakers:    []control.Breaker{{Provider: "custom:127.0.0.1:9999", State: "OPEN", Until: later}},
		}, "Lab, Attic: breaker open", "127.0.0.1"},
		{"breaker closed", closed("claude"), two(func(*control.Snapshot) {}), "CLAUDE serves again|Its breaker is closed.", ""},
		{"breaker closed, all its connections rest", closed("claude"), two(func(s *control.Snapshot) { rest(&s.Connections[0]); rest(&s.Connections[1]) }), "", ""},
		{"breaker closed, open again", closed("claude"), two(func(s *control.Snapshot) { s.Breakers[0].State = "OPEN" }), "", ""},

		{"nothing left", none, two(func(s *control.Snapshot) {
			rest(&s.Connections[0])
			s.Connections[1].State = control.StateExpired
		}), "No connection available|No connection can take requests. CLAUDE · work is available again at 16:20.", "anthropic"},
		{"nothing left for one API", none, two(func(s *control.Snapshot) {
			rest(&s.Connections[0])
			rest(&s.Connections[1])
			s.Connections = append(s.Connections, lab("a", "Lab"))
		}), "No connection for Anthropic Messages can take requests.", "(anthropic)"},
		{"nothing left: the request named one connection", none, two(func(s *control.Snapshot) { rest(&s.Connections[0]) }), "", ""},
		{"nothing left: the request failed by itself", none, two(func(*control.Snapshot) {}), "", ""},
		{"nothing left: one came back", none, two(func(s *control.Snapshot) { rest(&s.Connections[0]); s.Connections[1].State = control.StateProbing }), "", ""},
		{"nothing left: only one model is locked", none, two(func(s *control.Snapshot) {
			rest(&s.Connections[0])
			s.Connections[1].State = control.StateModelLocked
		}), "", ""},
		{"nothing left: paused meanwhile", none, two(func(s *control.Snapshot) { rest(&s.Connections[0]); rest(&s.Connections[1]); s.Paused = true }), "", ""},
		{"nothing left: all are off", none, two(func(s *control.Snapshot) {
			for i := range s.Connections {
				s.Connections[i].State, s.Connections[i].Active = control.StateOff, false
			}
		}), "", ""},
		{"a combo without targets", combo, two(func(s *control.Snapshot) { s.Combos = []control.ComboBrief{{Name: "fast", Active: true}} }), "No target is available: fast.", "again"},
		{"a combo with targets again", combo, two(func(s *control.Snapshot) {
			s.Combos = []control.ComboBrief{{Name: "fast", Active: true}}
			s.Paused = true
		}), "", ""},
		{"a combo that is off", combo, two(func(s *control.Snapshot) { s.Combos = []control.ComboBrief{{Name: "fast"}} }), "", ""},
		{"a combo that is gone", combo, two(func(*control.Snapshot) {}), "", ""},

		{"lane", lane, two(func(s *control.Snapshot) { s.Connections[0].Lane = &control.ClaudeLane{State: "active", Until: later} }), "CLAUDE · work: low-priority lane|at 16:20", ""},
		{"lane over", lane, two(func(s *control.Snapshot) { s.Connections[0].Lane = &control.ClaudeLane{State: "cooling_off"} }), "", ""},
		{"lane ended", left, two(func(*control.Snapshot) {}), "low-priority lane ended", ""},
		{"lane ended, in it again", left, two(func(s *control.Snapshot) { s.Connections[0].Lane = &control.ClaudeLane{State: "active"} }), "", ""},
		{"quota", quota, two(func(*control.Snapshot) {}), "9 % of the quota left", ""},
		{"quota of a connection that is gone", quota, control.Snapshot{}, "", ""},
		{"changes cannot be saved", none, two(func(s *control.Snapshot) { s.Notices = []control.Notice{{Code: "read_only"}} }), "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPolicy(zone)
			p.Add(t0, tt.alert)
			var told []string
			for _, m := range p.Flush(t0.Add(settle), everything, Present{Snapshot: tt.snap, Rests: func(string) bool { return !tt.snap.Paused }}) {
				told = append(told, m.Title+" | "+m.Body)
			}
			got := strings.Join(told, "\n")
			if (got == "") != (tt.want == "") {
				t.Fatalf("said %q", got)
			}
			for part := range strings.SplitSeq(tt.want, "|") {
				if !strings.Contains(got, part) {
					t.Errorf("said %q, want %q in it", got, part)
				}
			}
			if tt.not != "" && slices.ContainsFunc(strings.Split(tt.not, "|"), func(part string) bool { return strings.Contains(got, part) }) {
				t.Errorf("said %q, with some of %q", got, tt.not)
			}
		})
	}
}

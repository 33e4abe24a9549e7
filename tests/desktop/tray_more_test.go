//go:build linux

package desktop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestTraySwitchesCombos(t *testing.T) {
	t.Parallel()
	st := shown(t, three())
	r, icon := st.r, st.icon
	r.tell(order{Combos: []string{"coding", "cheap"}})
	icon.UntilText("[x] cheap")
	menu := Text(icon.Menu())
	if !strings.Contains(menu, "Combos\n    [x] coding\n    [x] cheap") {
		t.Errorf("menu:\n%s", menu)
	}
	icon.Click("Combos", "cheap")
	icon.UntilText("[ ] cheap")
	icon.Click("Combos", "cheap")
	icon.UntilText("[x] cheap")
}

func TestTrayPausesForAWhileAndResumes(t *testing.T) {
	t.Parallel()
	st := shown(t, three())
	icon := st.icon
	for label, span := range map[string]time.Duration{"For 15 minutes": 15 * time.Minute, "For 1 hour": time.Hour} {
		icon.UntilText("3 of 3 connections serving")
		icon.Click("Pause", label)
		icon.UntilText("Paused until ")
		menu := Text(icon.Menu())
		near := false
		for _, slack := range []time.Duration{0, time.Minute} {
			near = near || strings.Contains(menu, "Paused until "+time.Now().Add(span-slack).Format("15:04")) ||
				strings.Contains(menu, "Paused until "+time.Now().Add(span-slack).Format("Mon 15:04"))
		}
		if !near {
			t.Errorf("%s:\n%s", label, menu)
		}
		icon.Click("Resume")
	}
	icon.UntilText("3 of 3 connections serving")
}

func TestTrayGroupsAboveEightConnections(t *testing.T) {
	t.Parallel()
	st := shown(t, nil)
	r, icon := st.r, st.icon
	s := three()
	add := func(n int) {
		for len(s.Connections) < n {
			i := len(s.Connections)
			s.Connections = append(s.Connections, control.Connection{
				ID: fmt.Sprint("m", i), Provider: "openai", ProviderName: "OpenAI", Name: fmt.Sprintf("key %d", i), Active: true, State: control.StateServing,
			})
		}
		r.tell(order{Snapshot: s})
	}
	add(8)
	icon.UntilText("key 7 — serving")
	if strings.Contains(Text(icon.Menu()), "5 of 5 serving") {
		t.Error("eight connections are grouped")
	}
	add(9)
	icon.UntilText("OpenAI — 6 of 6 serving")
	icon.Click("OpenAI", "key 8") // in a group a line is the switch
	icon.UntilText("OpenAI — 5 of 5 serving")
}

// A panel that crashes and starts again gets the icon back, with a menu that
// works.
func TestTrayComesBackAfterTheWatcherRestarts(t *testing.T) {
	t.Parallel()
	d := New(t, false)
	first := d.Panel()
	r := startTray(d)
	icon := first.Icon()
	r.tell(order{Snapshot: three()})
	icon.UntilText("3 of 3 connections serving")
	for range 2 {
		first.Stop()
		again := d.Panel()
		icon = again.Icon()
		icon.UntilText("3 of 3 connections serving")
		icon.Click("Ollama", "Use this connection")
		icon.UntilText("○  Ollama — off")
		icon.Click("Ollama", "Use this connection")
		icon.UntilText("●  Ollama — serving")
		first = again
	}
}

// Snapshots that show nothing new draw nothing: neither menu nor icon.
func TestTrayDrawsNothingWhileNothingChanges(t *testing.T) {
	t.Parallel()
	st := shown(t, nil)
	d, panel, r, icon := st.d, st.panel, st.r, st.icon
	s := three()
	s.Connections[0].State, s.Connections[0].Until = control.StateCooling, in(50*time.Minute)
	r.tell(order{Snapshot: s})
	icon.UntilText("cooling 50 min")
	d.Settle(panel.Layouts)
	d.Settle(panel.Redrawn)
	layouts, redrawn := panel.Layouts(), panel.Redrawn()
	for n := range 30 {
		s.Seq++
		s.Connections[1].Served, s.Connections[1].InFlight = int64(n), n%3 // counters that the menu does not show
		r.tell(order{Snapshot: s})
	}
	d.Settle(panel.Layouts)
	if panel.Layouts() != layouts || panel.Redrawn() != redrawn {
		t.Errorf("%d layouts and %d icons more", panel.Layouts()-layouts, panel.Redrawn()-redrawn)
	}
}

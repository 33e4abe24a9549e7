//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

// key types a key at the focused object.
func (b *bench) key(k fyne.KeyName) { b.win.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: k}) }

// rowOf returns the shown row that has a text in one of its cells.
func (b *bench) rowOf(words string) *row {
	b.t.Helper()
	var found *row
	walk(b.top(), func(o fyne.CanvasObject) bool {
		r, ok := o.(*row)
		if k, own := o.(*keyRow); own {
			r, ok = &k.row, true
		}
		if !ok {
			return false
		}
		walk(r, func(o fyne.CanvasObject) bool {
			if t, ok := o.(*text); ok && t.content == words {
				found = r
			}
			return found == r
		})
		return found != nil
	})
	if found == nil {
		b.t.Fatalf("no row %q; there is:\n%s", words, b.words())
	}
	return found
}

func TestCooldownsListWhatIsOutAndWhy(t *testing.T) {
	b := newBench(t, "busy", pageCooldowns)
	b.wantShown("2 come back by themselves. 1 needs you. 2 models are locked.",
		"OpenRouter", "no credit", "402, quota used up", "Claude · work", "4 min 05 s", "gemini-3.1-pro-preview", "and 1 more", "40 s")
	b.wantHidden("Anthropic · home", "Clear selected", "Ollama")
	pageOf[*cooldowns](b).conns.switches.flip()
	b.wantShown("Anthropic · home")
	if !strings.Contains(b.rowOf("Gemini").tips[3], "gemini-3.5-flash: model at capacity, in 9 min 12 s") {
		t.Error(b.rowOf("Gemini").tips)
	}
}

func TestTerminalRowsCannotBeCleared(t *testing.T) {
	b := newBench(t, "busy", pageCooldowns)
	for name, want := range map[string]bool{"OpenRouter": false, "OpenAI · platform": false, "Claude · work": true} {
		r := b.rowOf(name)
		if inside[*tick](r.cells[0]).Visible() != want || inside[*rowWord](r.cells[5]).Visible() != want {
			t.Errorf("%s: can be cleared, want %v", name, want)
		}
	}
	p := pageOf[*cooldowns](b)
	p.conns.choose("c5")
	b.win.Canvas().Focus(p.conns.list)
	b.key(fyne.KeyDelete)
	b.key(fyne.KeySpace)
	if b.fake.did("clear c5") || len(p.conns.marked) != 0 {
		t.Error("a terminal state was cleared or ticked")
	}
}

func TestClearOneSelectedAndAll(t *testing.T) {
	b := newBench(t, "busy", pageCooldowns)
	test.Tap(inside[*rowWord](b.rowOf("Claude · work").cells[5]))
	b.wantShown("1 connection is back in routing.")
	b.sync()
	b.wantHidden("Claude · work")

	b = newBench(t, "busy", pageCooldowns)
	p := pageOf[*cooldowns](b)
	test.Tap(inside[*tick](b.rowOf("Claude · work").cells[0]))
	p.conns.choose("c6")
	b.win.Canvas().Focus(p.conns.list)
	b.key(fyne.KeySpace)
	b.push("Clear selected (2)")
	if !b.fake.did("clear c1") || !b.fake.did("clear c6") {
		t.Error(b.fake.calls)
	}
	b.wantShown("2 connections are back in routing. 2 models were unlocked with it.")
	b.sync()
	b.wantHidden("Clear selected")

	b = newBench(t, "busy", pageCooldowns)
	p = pageOf[*cooldowns](b)
	p.filter.SetSelected("Gemini")
	b.wantHidden("Claude · work")
	b.push("Clear all")
	if b.fake.did("clear c1") || !b.fake.did("clear c6") {
		t.Error("all of the filtered provider, and no other:", b.fake.calls)
	}
}

func TestLockedModelsAreAskedAgainOneByOneOrAll(t *testing.T) {
	b := newBench(t, "busy", "cooldowns/models")
	b.wantShown("gemini-3.1-pro-preview", "model at capacity", "9 min 12 s")
	test.Tap(b.rowOf("gemini-3.5-flash").cells[5].(*rowWord))
	if !b.fake.did("unlock /c6/gemini-3.5-flash") {
		t.Error(b.fake.calls)
	}
	b.wantShown("1 model is asked again.")
	b.sync()
	b.wantHidden("gemini-3.5-flash")
	b.push("Ask all again")
	b.sync()
	b.wantShown("No model is locked")
	b.goTo(pageOverview)
	b.goTo(pageCooldowns)
	b.wantShown("No model is locked")
}

func TestBreakersAreResetAfterAQuestion(t *testing.T) {
	b := newBench(t, "busy", "cooldowns/breakers")
	b.wantShown("open, probe in 40 s", "12/12", "2 times", "server error, 20 s ago", "One breaker guards each provider.")
	b.wantHidden("All providers")
	b.push("Reset breakers…")
	b.wantShown("Reset every breaker?")
	b.push("Cancel")
	if b.fake.did("reset ") {
		t.Fatal("it was not confirmed")
	}
	b.push("Reset breakers…")
	b.push("Reset")
	b.wantShown("4 breakers are closed.")
}

func TestEmptyCooldownsSayWhatWouldFillThem(t *testing.T) {
	b := newBench(t, "well", pageCooldowns)
	b.wantShown("Everything is in routing.", "Nothing is cooling down")
	b.goTo("cooldowns/models")
	b.wantShown("No model is locked")
	b = newBench(t, "empty", "cooldowns/breakers")
	b.wantShown("No breaker yet")
}

func TestCooldownRowsLeadToTheirConnection(t *testing.T) {
	b := newBench(t, "busy", "cooldowns/c6")
	p := pageOf[*cooldowns](b)
	if p.conns.chosen != "c6" {
		t.Fatal(p.conns.chosen)
	}
	b.win.Canvas().Focus(p.conns.list)
	b.key(fyne.KeyM)
	b.win.Canvas().Overlays().Top().Hide()
	b.key(fyne.KeyReturn)
	if b.current.key() != pageConnections || b.connectionsPage().chosen != "c6" {
		t.Error(b.current.key())
	}
}

//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"breakwater/app/windows/view"
)

func TestADrillIsRunFromACombo(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	b.push("Fault drill…")
	b.wantShown("Fault drill of coding", "Claude · work", "Anthropic · home", "No provider is asked", "Pause between them")
	b.wantHidden("no Retry-After")
	p := pageOf[*combos](b)
	modals[0].cancel()
	d := p.u.drillDialog(p.combo("k1"))
	d.faults[0].kind.SetSelected(view.FaultName("rate_limit"))
	d.faults[0].after.SetText("60")
	d.faults[1].kind.SetSelected(view.FaultName("stall"))
	b.wantShown("–")
	d.faults[1].from.SetText("3x")
	d.faults[1].to.SetText("2")
	b.push("Run the drill")
	b.wantShown("The first request of a fault cannot come after its last.")
	b.wantHidden("That did not work")
	d.faults[1].to.SetText("4")
	d.count.choose(1)
	b.push("Run the drill")
	last := b.fake.calls[len(b.fake.calls)-1]
	if want := `drill {"combo":"k1","faults":[{"connectionId":"c1","kind":"rate_limit","retryAfterSeconds":60},{"connectionId":"c2","kind":"stall","from":3,"to":4}],"requests":10,"spacingMs":5000}`; last != want {
		t.Errorf("asked for\n%s\nwant\n%s", last, want)
	}
	b.wantShown("10 of 10 requests were answered. Left alone at the end: Claude · work.", "Claude · work said 429", "Anthropic · home answered", "Claude · work: cooling", "For 1 min 00 s.")
	d.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	if d.at != 1 {
		t.Errorf("the second request is not chosen: %d", d.at)
	}
	b.fake.refuse = errors.New("no route to it")
	b.push("Run the drill")
	b.wantHidden("10 of 10 requests were answered.")
	b.push("Close")
	if len(modals) != 0 {
		t.Error("the dialog is still open")
	}
}

func TestTheEditorLooksAhead(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	d := b.editor("k1")
	for _, f := range b.later {
		f()
	}
	b.wantShown("Right now: Anthropic · home.")
	d.strategy.SetSelected("By weight")
	b.later[len(b.later)-1]()
	if !strings.Contains(d.ahead.content, "draws lots") {
		t.Errorf("the look ahead of another strategy is %q", d.ahead.content)
	}
}

func TestARunningDrillTellsForHowLong(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	p := pageOf[*combos](b)
	d := p.u.drillDialog(p.combo("k1"))
	var run func()
	b.spawn = func(f func()) { run = f }
	b.push("Run the drill")
	if !d.run.disabled {
		t.Fatal("it is not running")
	}
	b.clock = b.clock.Add(2 * time.Second)
	b.later[len(b.later)-1]()
	b.wantShown("Running for 2")
	n := len(b.later)
	run()
	b.later[n-1]()
	if b.wantHidden("Running for"); len(b.later) != n {
		t.Error("it goes on counting")
	}
}

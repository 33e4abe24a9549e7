//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

func TestProviderPageShowsConnectionsBreakerAndFigures(t *testing.T) {
	b := newBench(t, "busy", "providers/openai")
	b.wantShown("OpenAI", "0 of 1 serving · breaker open, probe in 40 s", "Retry delay", "12 of 12 counted failures until it opens")
	p := b.side[0].(*provider)
	cell := func(path string) *knobCell {
		for _, c := range p.card.cells {
			if c.knob.Path == path {
				return c
			}
		}
		t.Fatal("no figure ", path)
		return nil
	}
	if c := cell("own.rateLimitCooldownSeconds"); c.shown() != "45" || c.pick.Selected != "45 s" || c.note.content != "set here" {
		t.Error(c.shown(), c.note.content)
	}
	cell("own.rateLimitCooldownSeconds").pick.SetSelected("2 min")
	cell("own.concurrency").entry.SetText("3")
	b.push("Save")
	if got := b.lastPatch(); got != `{"providerQuotaOverrides":{"openai":{"concurrency":3,"rateLimitCooldownSeconds":120,"rpm":60}}}` {
		t.Error(got)
	}
	if p.card.save.Visible() {
		t.Error("it still waits to be saved")
	}
	cell("own.rpm").takeBack()
	if got := b.lastPatch(); got != `{"providerQuotaOverrides":{"openai":{"concurrency":3,"rateLimitCooldownSeconds":120}}}` {
		t.Error(got)
	}
	if c := cell("own.rpm"); c.shown() != "" || c.back.Visible() {
		t.Error("it is not automatic again")
	}
	if len(p.rows) != 1 || p.rows[0].Name != "OpenAI · platform" {
		t.Errorf("%+v", p.rows)
	}
	p.pick.SetSelected("Claude subscription")
	b.wantShown("1 of 8 counted failures until it opens")
	if c := cell("own.windows"); c.shown() != "five_hour=5, seven_day=2" {
		t.Error(c.shown())
	}
	b.push("Reset breaker…")
	b.wantShown("Reset the breaker of Claude subscription?")
	b.push("Reset")
	if !b.fake.did("reset claude") {
		t.Error(b.fake.calls)
	}
}

func TestWaysToAProvider(t *testing.T) {
	b := newBench(t, "busy", "")
	there := func(how, id string) {
		t.Helper()
		if p, ok := b.current.(*provider); !ok || p.id != id {
			t.Fatal(how, "does not lead there")
		}
	}
	test.Tap(pageOf[*overview](b).brk.rows[2])
	there("the overview", "glm")
	b.goTo("cooldowns/breakers")
	brk := pageOf[*cooldowns](b).brk
	brk.chosen = 0
	brk.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	there("the breakers' list", "openai")
	b.goToProvider("custom:host.example")
	there("a breaker of a host", "custom")
	b.wantShown("Each provider gets one with its first connection.")
	b.goTo("settings/resilience")
	b.wantShown("Providers with figures of their own", "Retry delay 45 s · Requests per minute 60", "Emergency fallback", "Login refresh", "Conversations")
	test.Tap(pageOf[*settings](b).resilience.own.rows[0])
	there("the settings", "claude")
}

func TestConversationsAndChoicesAreSaved(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	s := pageOf[*settings](b).resilience.session
	if c := s.cells[0]; c.shown() != "1800" || c.note.content != "set here" {
		t.Error(c.shown(), c.note.content)
	}
	s.cells[0].entry.SetText("60")
	b.push("Save")
	if got := b.lastPatch(); got != `{"sessionAffinityTtlMs":60000}` {
		t.Error(got)
	}
	s.cells[0].takeBack()
	if got := b.lastPatch(); got != `{"sessionAffinityTtlMs":0}` || s.cells[0].shown() != "0" {
		t.Error(got, s.cells[0].shown())
	}
	b.cell("tokenRefreshBreaker.scope").pick.SetSelected("Each connection")
	b.push("Save")
	if got := b.lastPatch(); got != `{"tokenRefreshBreaker":{"scope":"connection"}}` {
		t.Error(got)
	}
	b.cell("emergencyFallback.model").entry.SetText("llama")
	b.push("Save")
	b.wantShown("A provider and a model, as in groq/llama-3.3-70b.")
	b.fake.refuse = &control.InvalidError{Fields: []control.FieldError{{Field: "emergencyFallback.model", Message: "is too long"}}}
	b.cell("emergencyFallback.model").entry.SetText("groq/llama")
	b.push("Save")
	b.wantShown("Is too long.")
}

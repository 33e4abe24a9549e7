package i18n

import (
	"testing"
	"time"
	"unicode/utf8"

	"breakwater/proxy/control"
)

var states = []control.State{
	control.StateServing, control.StateDegraded, control.StateCooling, control.StateModelLocked,
	control.StateOpen, control.StateProbing, control.StateBanned, control.StateExpired,
	control.StateCreditsExhausted, control.StateOff, control.StateNeedsAttention, control.StateWrongAddress,
}

func TestEveryStateHasAShapeAndAWord(t *testing.T) {
	words, shapes := map[string]bool{}, map[string]bool{}
	for _, s := range states {
		if words[Word(s)] || Word(s) == "" {
			t.Errorf("%s: the word %q is empty or taken", s, Word(s))
		}
		words[Word(s)] = true
		shape := Shape(s)
		if utf8.RuneCountInString(shape) != 1 || (shapes[shape] && !s.Stuck()) {
			t.Errorf("%s: the shape %q is not its own", s, shape)
		}
		shapes[shape] = true
	}
	if Word("new") != "new" || Shape("new") != "·" {
		t.Error("an unknown state must show as it is")
	}
}

func TestPhraseTellsTheTimeLeft(t *testing.T) {
	at := func(d time.Duration) *time.Time { return new(now.Add(d)) }
	for _, c := range []struct {
		state control.State
		until *time.Time
		want  string
	}{
		{control.StateServing, nil, "serving"},
		{control.StateServing, at(time.Minute), "serving"},
		{control.StateCooling, at(4 * time.Minute), "cooling 4 min"},
		{control.StateCooling, at(40 * time.Second), "cooling 40 s"},
		{control.StateCooling, at(80 * time.Minute), "cooling until 16:20"},
		{control.StateCooling, at(-time.Second), "cooling"},
		{control.StateModelLocked, at(time.Minute), "model locked 60 s"},
		{control.StateOpen, at(40 * time.Second), "open, probe in 40 s"},
		{control.StateOpen, at(80 * time.Minute), "open, probe at 16:20"},
		{control.StateOpen, nil, "open"},
		{control.StateExpired, at(time.Minute), "expired"},
		{control.StateCreditsExhausted, nil, "no credit"},
	} {
		if got := Phrase(c.state, c.until, now, madrid, Seconds); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
	if got := Phrase(control.StateOpen, at(40*time.Second), now, madrid, Minutes); got != "open, probe in 1 min" {
		t.Errorf("in minutes: %q", got)
	}
}

func TestNameDoesNotRepeatTheProvider(t *testing.T) {
	for _, c := range [][3]string{
		{"Anthropic", "work", "Anthropic · work"},
		{"Anthropic", "Anthropic", "Anthropic"},
		{"Anthropic", "anthropic work", "anthropic work"},
		{"Anthropic", "", "Anthropic"},
		{"", "work", "work"},
		{"Anthropic", "two\nlines\x1b[31m and \u202eback", "Anthropic · two lines [31m and back"},
	} {
		if got := Name(c[0], c[1]); got != c[2] {
			t.Errorf("Name(%q, %q) is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestEllipsis(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"ñandú ñandú", 7, "ñandú…"},
		{"日本語テキスト", 4, "日本語…"},
		{"x", 0, "…"},
	} {
		if got := Ellipsis(c.in, c.n); got != c.want {
			t.Errorf("Ellipsis(%q, %d) is %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestSentence(t *testing.T) {
	at := func(d time.Duration) *time.Time { return new(now.Add(d)) }
	on := control.Connection{Active: true, State: control.StateServing}
	off := control.Connection{State: control.StateOff}
	cooling := control.Connection{Active: true, State: control.StateCooling, Until: at(5 * time.Minute)}
	open := control.Connection{Active: true, State: control.StateOpen, Until: at(2 * time.Minute)}
	expired := control.Connection{Active: true, State: control.StateExpired}
	for _, c := range []struct {
		name   string
		conns  []control.Connection
		paused bool
		want   string
	}{
		{"nothing yet", nil, false, "No connections yet"},
		{"some", []control.Connection{on, on, cooling}, false, "2 of 3 connections serving"},
		{"one off", []control.Connection{on, off}, false, "1 of 1 connections serving · 1 off"},
		{"all off", []control.Connection{off, off}, false, "All connections are off"},
		{"none serves", []control.Connection{cooling, open, expired}, false, "0 of 3 connections serving, next in 2 min"},
		{"none ever", []control.Connection{expired}, false, "0 of 1 connections serving"},
		{"paused", []control.Connection{on}, true, "Paused, new requests are refused"},
	} {
		s := control.Snapshot{Connections: c.conns, Paused: c.paused}
		if got := Sentence(s, now, madrid, Minutes); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

package i18n

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// madrid is two hours ahead in summer and one in winter; the tests must not
// depend on the machine having time zones.
var madrid = time.FixedZone("CET", 3600)

// now is Tuesday 1 December 2026, 15:00 in madrid.
var now = time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)

func TestWhenSaysTimesLikeAPerson(t *testing.T) {
	for _, c := range []struct {
		after            time.Duration
		seconds, minutes string
	}{
		{-time.Hour, "in 1 s", "in 1 min"},
		{0, "in 1 s", "in 1 min"},
		{time.Millisecond, "in 1 s", "in 1 min"},
		{40 * time.Second, "in 40 s", "in 1 min"},
		{time.Minute, "in 60 s", "in 1 min"},
		{61 * time.Second, "in 2 min", "in 2 min"},
		{4 * time.Minute, "in 4 min", "in 4 min"},
		{time.Hour - time.Second, "in 1 h", "in 1 h"},
		{time.Hour, "until 16:00", "until 16:00"},
		{80 * time.Minute, "until 16:20", "until 16:20"},
		{18 * time.Hour, "until Wed 09:00", "until Wed 09:00"},
		{6 * 24 * time.Hour, "until Mon 15:00", "until Mon 15:00"},
		{7 * 24 * time.Hour, "until 8 Dec 15:00", "until 8 Dec 15:00"},
		{40 * 24 * time.Hour, "until 10 Jan 2027 15:00", "until 10 Jan 2027 15:00"},
	} {
		if got := When(now, now.Add(c.after), madrid, Seconds); got != c.seconds {
			t.Errorf("%v in seconds: %q, want %q", c.after, got, c.seconds)
		}
		if got := When(now, now.Add(c.after), madrid, Minutes); got != c.minutes {
			t.Errorf("%v in minutes: %q, want %q", c.after, got, c.minutes)
		}
	}
}

func TestMomentNamesOneTime(t *testing.T) {
	for after, want := range map[time.Duration]string{
		40 * time.Second: "in 40 s",
		80 * time.Minute: "at 16:20",
		18 * time.Hour:   "Wed 09:00",
	} {
		if got := Moment(now, now.Add(after), madrid, Seconds); got != want {
			t.Errorf("%v: %q, want %q", after, got, want)
		}
	}
}

func TestLeftIsRoundedUp(t *testing.T) {
	for after, want := range map[time.Duration]string{
		90 * time.Minute:              "1 h 30 min",
		2 * time.Hour:                 "2 h",
		24 * time.Hour:                "1 d",
		24*time.Hour + time.Second:    "2 d",
		23*time.Hour + 59*time.Minute: "23 h 59 min",
	} {
		if got := Left(now, now.Add(after), Minutes); got != want {
			t.Errorf("%v: %q, want %q", after, got, want)
		}
	}
}

func TestAgoAndExact(t *testing.T) {
	for before, want := range map[time.Duration]string{
		-time.Minute:         "just now",
		time.Second:          "just now",
		40 * time.Second:     "40 s ago",
		4 * time.Minute:      "4 min ago",
		2 * time.Hour:        "13:00",
		3 * 24 * time.Hour:   "28 Nov 15:00",
		370 * 24 * time.Hour: "26 Nov 2025 15:00",
	} {
		if got := Ago(now, now.Add(-before), madrid); got != want {
			t.Errorf("%v: %q, want %q", before, got, want)
		}
	}
	if got := Exact(now, madrid); got != "Tue 1 Dec 2026 15:00:00 CET" {
		t.Errorf("%q", got)
	}
}

// TestNextChangeIsTheNextChange checks that a text stays the same up to the
// moment that NextChange names, and differs there or when the time is over.
func TestNextChangeIsTheNextChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		until := now.Add(time.Duration(rapid.Int64Range(1, int64(3*time.Hour)).Draw(t, "left")))
		g := Grain(rapid.IntRange(0, 1).Draw(t, "grain"))
		at, ok := NextChange(now, until, g)
		if !ok || !at.After(now) || at.After(until) {
			t.Fatalf("next change at %v, %v for %v", at, ok, until)
		}
		text := func(at time.Time) string { return When(at, until, madrid, g) }
		if before := at.Add(-time.Nanosecond); text(before) != text(now) {
			t.Fatalf("%q became %q before the change", text(now), text(before))
		}
		if at.Before(until) && text(at) == text(now) {
			t.Fatalf("still %q at the change", text(at))
		}
	})
	if _, ok := NextChange(now, now, Minutes); ok {
		t.Error("what is over still changes")
	}
}

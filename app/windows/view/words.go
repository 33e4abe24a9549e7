package view

import (
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// T returns the text in the user's language, formatted with args when there
// are any; the English text is the key.
func T(s string, args ...any) string { return i18n.T(s, args...) }

// Tf is T for texts that always have figures in them.
func Tf(s string, args ...any) string { return i18n.T(s, args...) }

// N returns the text for a number of things, in the singular or the plural of
// the user's language.
func N(n int, one, other string, args ...any) string { return i18n.N(n, one, other, args...) }

// StateWord returns the one word of a state.
func StateWord(s control.State) string { return i18n.Word(s) }

// Left returns how long it is from now to until. Below ten minutes it counts
// down each second, "40 s", "4 min 05 s"; above it is as coarse as elsewhere.
func Left(until, now time.Time) string {
	s := int64((until.Sub(now) + time.Second - 1) / time.Second)
	switch {
	case s <= 0:
		return T("a moment")
	case s > 60 && s < 600:
		return Tf("%d min %02d s", s/60, s%60)
	default:
		return i18n.Left(now, until, i18n.Seconds)
	}
}

// Until returns when something ends: "in 40 s" below an hour, else "until
// 16:20", "until Tue 09:00" or, a week and more away, "until 12 Dec 09:00".
func Until(until, now time.Time) string {
	if until.Sub(now) < time.Hour {
		return Tf("in %s", Left(until, now))
	}
	return i18n.Until(now, until, time.Local)
}

// Clock returns the local time of t, as short as now allows.
func Clock(t, now time.Time) string { return i18n.Clock(now, t, time.Local) }

// Exact returns the full local time with its zone, for a hover.
func Exact(t time.Time) string { return i18n.Exact(t, time.Local) }

// Ago returns how long ago t was.
func Ago(t, now time.Time) string { return i18n.Ago(now, t, time.Local) }

// Span returns a duration in milliseconds in words: "320 ms", "2.1 s",
// "48 s", "3 min 20 s".
func Span(ms int64) string {
	switch {
	case ms < 1000:
		return Tf("%d ms", max(ms, 0))
	case ms < 10_000:
		return Tf("%.1f s", float64(ms)/1000)
	case ms < 60_000:
		return Tf("%d s", (ms+500)/1000)
	default:
		s := (ms + 500) / 1000
		return Tf("%d min %02d s", s/60, s%60)
	}
}

// Bytes returns a size in words: "812 B", "41 KB", "2.3 MB".
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return Tf("%d B", n)
	case n < 1_000_000:
		return Tf("%d KB", (n+500)/1000)
	default:
		return Tf("%.1f MB", float64(n)/1e6)
	}
}

package i18n

import "time"

// Grain is how fine a remaining time is told.
type Grain uint8

const (
	// Seconds is for windows, which count down each second.
	Seconds Grain = iota
	// Minutes is for the tray and for text that stays: it changes once a
	// minute at most.
	Minutes
)

// near is the distance up to which a time is told as a span, and beyond which
// the clock says more.
const near = time.Hour

// Left returns the time from now to t as a span: "40 s", "4 min", "2 h 5 min",
// "3 d". It is rounded up, so that it never promises too much, and is at least
// one unit.
func Left(now, t time.Time, g Grain) string {
	d := t.Sub(now)
	if g == Seconds && d <= time.Minute {
		return T("%d s", max(1, ceil(d, time.Second)))
	}
	minutes := max(1, ceil(d, time.Minute))
	switch {
	case minutes < 60:
		return T("%d min", minutes)
	case minutes < 24*60 && minutes%60 == 0:
		return T("%d h", minutes/60)
	case minutes < 24*60:
		return T("%d h %d min", minutes/60, minutes%60)
	default:
		return T("%d d", ceil(d, 24*time.Hour))
	}
}

// When says when something ends or happens, the way a person would: near times
// as "in 40 s" and "in 4 min", far ones as "until 16:20" or "until Tue 09:00".
func When(now, t time.Time, loc *time.Location, g Grain) string {
	if t.Sub(now) < near {
		return T("in %s", Left(now, t, g))
	}
	return Until(now, t, loc)
}

// Until returns "until 16:20", "until Tue 09:00" or "until 12 Dec 09:00". It
// does not change while time passes, except at midnight.
func Until(now, t time.Time, loc *time.Location) string {
	return T("until %s", Clock(now, t, loc))
}

// Clock returns a moment as short as now allows: "16:20" today, "Tue 09:00"
// within the next six days, "12 Dec 09:00" beyond and in the past.
func Clock(now, t time.Time, loc *time.Location) string {
	now, t = now.In(loc), t.In(loc)
	hm := t.Format("15:04")
	day := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
	}
	switch days := int(day(t).Sub(day(now)).Hours() / 24); {
	case days == 0:
		return hm
	case days > 0 && days < 7:
		return T(t.Format("Mon")) + " " + hm
	case t.Year() == now.Year():
		return T("%d %s", t.Day(), T(t.Format("Jan"))) + " " + hm
	default:
		return T("%d %s", t.Day(), T(t.Format("Jan"))) + t.Format(" 2006 15:04")
	}
}

// Exact returns the whole local time with its zone, for hover texts.
func Exact(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	return T(t.Format("Mon")) + " " + T("%d %s", t.Day(), T(t.Format("Jan"))) + t.Format(" 2006 15:04:05 MST")
}

// Ago says how long ago t was: "just now", "40 s ago", "4 min ago", then the
// clock's time.
func Ago(now, t time.Time, loc *time.Location) string {
	switch d := now.Sub(t); {
	case d < 2*time.Second:
		return T("just now")
	case d < time.Minute:
		return T("%s ago", T("%d s", int(d/time.Second)))
	case d < near:
		return T("%s ago", T("%d min", int(d/time.Minute)))
	default:
		return Clock(now, t, loc)
	}
}

// NextChange returns the moment at which a text made by Left, When or Phrase
// with this grain changes next, and false when it will not change any more.
func NextChange(now, t time.Time, g Grain) (time.Time, bool) {
	d := t.Sub(now)
	if d <= 0 {
		return time.Time{}, false
	}
	if d >= near {
		return t.Add(-near).Add(time.Nanosecond), true
	}
	unit := time.Minute
	if g == Seconds && d <= time.Minute {
		unit = time.Second
	}
	rest := d % unit
	if rest == 0 {
		rest = unit
	}
	return now.Add(rest), true
}

// ceil divides d by unit, rounding up.
func ceil(d, unit time.Duration) int {
	n := d / unit
	if d%unit > 0 {
		n++
	}
	return int(n)
}

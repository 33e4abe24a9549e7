package refusal

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// seconds is a wait in whole seconds, rounded up and at least one.
func seconds(d time.Duration) int { return max(int(math.Ceil(d.Seconds())), 1) }

// moment says a time for people, with its day when it is not soon.
func moment(now, t time.Time) string {
	if t.Sub(now) > 12*time.Hour {
		return t.UTC().Format("Mon 2 Jan, 15:04 MST")
	}
	return t.UTC().Format("15:04:05 MST")
}

// span says a duration for people.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 1))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(math.Ceil(d.Minutes())))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// spaced writes a code as words.
func spaced(code string) string { return strings.ReplaceAll(code, "_", " ") }

// plain takes line breaks out of a text and cuts it.
func plain(s string, limit int) string {
	s = strings.NewReplacer("\r", "", "\n", "").Replace(s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// latin replaces what a header cannot hold.
func latin(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0xff || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

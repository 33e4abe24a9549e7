package hint

import (
	"strings"
	"time"
)

// codexWindows begin the headers of the windows of a ChatGPT login.
var codexWindows = []string{"x-codex-primary-", "x-codex-secondary-"}

// codex returns the later reset of the windows that are used up (Q15). A
// window with room left does not explain the refusal.
func codex(h header, now time.Time) (find, bool) {
	var last find
	for _, w := range codexWindows {
		if used, ok := parseDecimal(h.get(w + "used-percent")); !ok || used.whole < 100 {
			continue
		}
		for _, field := range []string{"reset-after-seconds", "reset-at"} {
			v := h.get(w + field)
			d, ok := ParseRetryAfter(v, now)
			if !ok || d <= 0 {
				continue
			}
			last = later(last, find{wait: d, raw: w + field + ": " + v, source: SourceHeader})
			break
		}
	}
	return last, last.wait > 0
}

// later returns the find with the longer wait.
func later(a, b find) find {
	if b.wait > a.wait {
		return b
	}
	return a
}

// quotaWindow is one window of a RateLimit header field.
type quotaWindow struct {
	left, known bool // whether something is left, and whether it is said
	wait        time.Duration
}

// rateLimit reads the RateLimit header field in both of its drafts:
// `"default";r=0;t=50`, a list of policies, and `limit=100, remaining=0,
// reset=50`, one policy (Q16). The later reset of the windows with nothing left
// counts; one that does not say what is left counts only alone.
func rateLimit(h header) (find, bool) {
	var empty, silent find
	for _, v := range h.all("ratelimit") {
		for _, w := range readRateLimit(v) {
			f := find{wait: w.wait, raw: "ratelimit: " + v, source: SourceHeader}
			switch {
			case w.known && w.left:
			case w.known:
				empty = later(empty, f)
			default:
				silent = later(silent, f)
			}
		}
	}
	if empty.wait > 0 {
		return empty, true
	}
	return silent, silent.wait > 0
}

// readRateLimit reads one value of the field. Members of the newer draft carry
// their own parameters; those of the older one belong to one window together.
func readRateLimit(v string) []quotaWindow {
	var list []quotaWindow
	var old quotaWindow
	for _, member := range splitOutside(v, ',') {
		parts := splitOutside(member, ';')
		var own quotaWindow
		for i, p := range parts {
			name, value, found := strings.Cut(strings.TrimSpace(p), "=")
			if !found {
				continue
			}
			w := &own
			if i == 0 {
				w = &old
			}
			w.read(strings.ToLower(strings.TrimSpace(name)), strings.Trim(value, ` "`))
		}
		if own.wait > 0 {
			list = append(list, own)
		}
	}
	if old.wait > 0 {
		list = append(list, old)
	}
	return list
}

// read takes one parameter: what is left, or the seconds until the reset.
func (w *quotaWindow) read(name, value string) {
	switch name {
	case "r", "remaining":
		w.left, w.known = remaining(value)
	case "t", "reset":
		if d, ok := parseDecimal(value); ok {
			w.wait = d.times(time.Second)
		}
	}
}

// splitOutside splits s at sep where no quoted string is open.
func splitOutside(s string, sep byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

// resetAfter reads x-ratelimit-reset-after: a span in seconds, which is rounded
// up to whole ones (Q16).
func resetAfter(h header) (find, bool) {
	if (resetName{remaining: windowLeft}).left(h) {
		return find{}, false
	}
	for _, v := range h.all("x-ratelimit-reset-after") {
		if d, ok := ParseDuration(v); ok && d > 0 {
			if part := d % time.Second; part > 0 {
				d += time.Second - part
			}
			return find{wait: d, raw: "x-ratelimit-reset-after: " + v, source: SourceHeader}, true
		}
	}
	return find{}, false
}

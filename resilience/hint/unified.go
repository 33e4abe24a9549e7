package hint

import "time"

// unifiedPrefix begins every header of Anthropic's subscription windows.
const unifiedPrefix = "anthropic-ratelimit-unified-"

// unified is what the subscription's windows say about a refusal.
type unified struct {
	wait  time.Duration
	raw   string
	reach Reach
}

// window is one of the subscription's windows.
type window struct{ name, claim string }

// accountWindows reach over the whole subscription; oiWindow only over some
// models.
var accountWindows = []window{{"5h", "five_hour"}, {"7d", "seven_day"}}

const (
	oiWindow = "7d_oi"
	rejected = "rejected"
)

// readUnified finds the latest reset among the rejected windows. The summary
// reset belongs to whichever window is "representative", which need not be the
// one that refused (P07), so it counts only when no rejected window names its
// own reset.
func readUnified(h header, now time.Time) unified {
	status := func(w string) string { return h.get(unifiedPrefix + w + "-status") }
	summary := h.get(unifiedPrefix + "status")

	var u unified
	anyRejected, allowed := false, 0
	for _, w := range accountWindows {
		switch status(w.name) {
		case rejected:
			anyRejected = true
			u.take(h, w.name+"-reset", now)
		case "allowed", "allowed_warning":
			allowed++
		}
	}
	oi := status(oiWindow) == rejected
	if oi && !anyRejected && allowed == len(accountWindows) {
		// The window of some models alone: its reset says nothing about the rest
		// of the account, and the models recover by their own clock.
		return unified{reach: ReachModel}
	}
	if oi {
		u.take(h, oiWindow+"-reset", now)
	}
	wall := anyRejected || oi || summary == rejected
	if wall {
		u.reach = ReachAccount
	}
	ambiguous := summary == "" && allowed == 0
	if u.wait == 0 && (wall || ambiguous) && !representativeAllowed(h, anyRejected) {
		u.take(h, "reset", now)
	}
	if u.wait > 0 {
		u.reach = ReachAccount
	}
	return u
}

// representativeAllowed reports whether the summary reset belongs to a window
// that did not refuse although another one did.
func representativeAllowed(h header, anyRejected bool) bool {
	claim := h.get(unifiedPrefix + "representative-claim")
	for _, w := range accountWindows {
		if w.claim == claim && anyRejected && h.get(unifiedPrefix+w.name+"-status") != rejected {
			return true
		}
	}
	return false
}

// take keeps the reset in the named header if it is later than what u has.
func (u *unified) take(h header, name string, now time.Time) {
	v := h.get(unifiedPrefix + name)
	at, ok := ParseInstant(v)
	if !ok {
		return
	}
	if d := at.Sub(now); d > u.wait {
		u.wait, u.raw = d, unifiedPrefix+name+": "+v
	}
}

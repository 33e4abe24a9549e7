package view

import (
	"fmt"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// StepBadge tells how a step of a combo stands at present: the state of its
// connection, or of the best of its provider's. It is empty for a step that has
// no connection, such as another combo.
func StepBadge(s control.ComboStep, snap control.Snapshot, now time.Time) (b Badge) {
	for i := range snap.Connections {
		c := &snap.Connections[i]
		if s.Connection != "" && c.ID != s.Connection || s.Connection == "" && c.Provider != s.Provider {
			continue
		}
		if c.State.Available() {
			return ConnectionBadge(*c, now)
		}
		if b.Shape == "" {
			b = ConnectionBadge(*c, now)
		}
	}
	return b
}

// mostThen is how many further targets a look ahead names.
const mostThen = 3

// ComboAhead tells in words where the next request for a combo would go, who
// would follow, and who is passed over and why.
func ComboAhead(p control.ComboPreview, snap control.Snapshot, now time.Time) string {
	twice := map[string]int{}
	for _, t := range p.Targets {
		twice[t.ConnectionName]++
	}
	name := func(t control.PreviewTarget) string {
		if t.ConnectionName == "" {
			return t.Model
		}
		if twice[t.ConnectionName] > 1 {
			return t.ConnectionName + " · " + t.Model[strings.IndexByte(t.Model, '/')+1:]
		}
		return t.ConnectionName
	}
	var next, passed []string
	for _, t := range p.Targets {
		switch {
		case !t.Usable || p.Refusal != "":
			passed = append(passed, heldStory(t, name(t), snap, now))
		case weighs(p.Strategy, t) != "":
			next = append(next, name(t)+" ("+weighs(p.Strategy, t)+")")
		default:
			next = append(next, name(t))
		}
	}
	if len(next) == 0 {
		return strings.Join(append([]string{T("Right now: nobody.")}, limited(passed)...), " ")
	}
	var out []string
	switch {
	case p.Together:
		out = append(out, Tf("Right now all of these take part: %s.", strings.Join(next, ", ")))
	case len(next) == 1:
		out = append(out, Tf("Right now: %s.", next[0]))
	default:
		out = append(out, Tf("Right now: %s.", next[0]), Tf("Then: %s.", strings.Join(some(next[1:]), ", ")))
	}
	if len(passed) > 0 {
		out = append(out, Tf("Passed over: %s", strings.Join(limited(passed), " ")))
	}
	if p.Draws {
		out = append(out, T("This strategy draws lots: another request may begin elsewhere."))
	}
	return strings.Join(out, " ")
}

// some names the first few.
func some(names []string) []string {
	if len(names) <= mostThen {
		return names
	}
	return append(names[:mostThen:mostThen], Tf("%d more", len(names)-mostThen))
}

// limited tells the first few stories.
func limited(stories []string) []string {
	if len(stories) <= mostThen {
		return stories
	}
	return append(stories[:mostThen:mostThen], Tf("And %d more.", len(stories)-mostThen))
}

// heldStory says why a target would not be asked.
func heldStory(t control.PreviewTarget, name string, snap control.Snapshot, now time.Time) string {
	for _, c := range snap.Connections {
		if c.ID == t.ConnectionID && !c.State.Available() {
			return Story(c, now)
		}
	}
	why := holdWord(t.Reason)
	if t.Until != nil && t.Until.After(now) {
		why += ", " + Tf("back in %s", Left(*t.Until, now))
	}
	return name + ": " + why + "."
}

// holdWord is why a target cannot be used, in a few words.
func holdWord(hold string) string {
	switch hold {
	case "circuit_open":
		return T("breaker open")
	case "provider_cooldown":
		return T("provider cooling")
	case "connection_cooldown":
		return T("cooling")
	case "model_lockout":
		return T("model locked")
	case "quota_cutoff":
		return T("too little quota left")
	case "context_requirements":
		return T("context window too small")
	case "compacted_history":
		return T("only another account can read the conversation")
	}
	return T("no connection can take it")
}

// weighs tells what a strategy goes by in a target, as far as it is known.
func weighs(strategy string, t control.PreviewTarget) string {
	switch strategy {
	case "weighted":
		return Tf("weight %s", Weight(t.Weight))
	case "least-used", "p2c":
		if t.LatencyMs > 0 {
			return N(int(t.Requests), "%d request, %s on average", "%d requests, %s on average", t.Requests, Span(t.LatencyMs))
		}
		return N(int(t.Requests), "%d request", "%d requests", t.Requests)
	case "cost-optimized":
		if t.Price != nil {
			return Tf("%s for a million tokens", fmt.Sprintf("$%.2f", *t.Price))
		}
	case "context-optimized":
		if t.Context > 0 {
			return Tf("%d tokens of context", t.Context)
		}
	case "headroom", "reset-aware", "reset-window", "quota-weighted", "auto":
		if t.QuotaLeft != nil {
			return Tf("%d %% of the quota left", int(*t.QuotaLeft))
		}
	}
	return ""
}

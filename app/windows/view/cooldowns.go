package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// CooldownRow is one line of the cooldown manager (guide "Gestor de tiempos de
// espera"): a connection with what keeps it, or some of its models, out of
// routing.
type CooldownRow struct {
	ID, Name, Provider string
	Badge              Badge // without the time, which has a column of its own
	Remaining          string
	RemainingTip       string // the exact end
	Locked, LockedMore string // the model that is left out longest, and how many more
	LockedTip          string // each with its reason and end
	LastError          string
	ErrorTip           string
	// Clearable tells that there is something to clear here: neither terminal
	// states nor healthy connections have anything.
	Clearable bool
	Terminal  bool
}

// CooldownFilter says which connections the cooldown manager lists.
type CooldownFilter struct {
	Provider string // id; empty lists all
	Healthy  bool   // those that serve too
}

// CooldownList returns the connections that the cooldown manager lists: those
// in terminal states first, then those with the longest remaining. They point
// into the list given; a line is made when it is shown.
func CooldownList(list []control.Connection, f CooldownFilter, now time.Time) []*control.Connection {
	type entry struct {
		c    *control.Connection
		rank int
		end  time.Time
	}
	var found []entry
	for i := range list {
		c := &list[i]
		if (f.Provider == "" || c.Provider == f.Provider) && (f.Healthy || sidelined(c, now)) {
			found = append(found, entry{c, cooldownRank(c, now), end(c, now)})
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return cmp.Or(a.rank-b.rank, b.end.Compare(a.end)) })
	out := make([]*control.Connection, len(found))
	for i, e := range found {
		out[i] = e.c
	}
	return out
}

func cooldownRank(c *control.Connection, now time.Time) int {
	switch {
	case c.State.Stuck(), c.State == control.StateNeedsAttention:
		return 0
	case sidelined(c, now):
		return 1
	}
	return 2
}

// CooldownRowOf returns the line of one connection.
func CooldownRowOf(c *control.Connection, now time.Time) CooldownRow {
	r := CooldownRow{
		ID: c.ID, Name: c.Name, Provider: c.ProviderName, Badge: ConnectionBadge(*c, now), LastError: lastError(*c),
		Terminal: c.State.Terminal(), Clearable: Clearable(c, now),
	}
	r.Badge.Rest, r.Badge.Tip = "", ""
	if c.LastErrorAt != nil && r.LastError != "" {
		r.ErrorTip = Tf("last error %s", Exact(*c.LastErrorAt)) + ": " + r.LastError // whole, however narrow the column is
	}
	if t := end(c, now); !t.IsZero() && !r.Terminal {
		r.Remaining, r.RemainingTip = Left(t, now), Tf("until %s", Exact(t))
	}
	for _, w := range c.Waits {
		r.RemainingTip = strings.TrimPrefix(r.RemainingTip+"  ·  "+waitLine(w, now), "  ·  ")
	}
	locked := Locked(*c, now)
	var tips []string
	for _, l := range locked {
		tips = append(tips, lockLine(l, now))
	}
	r.LockedTip = strings.Join(tips, "  ·  ")
	if len(locked) > 0 {
		r.Locked = locked[0].Model
	}
	if len(locked) > 1 {
		r.LockedMore = Tf("and %d more", len(locked)-1)
	}
	return r
}

// waitLine says what else holds requests back.
func waitLine(w control.Wait, now time.Time) string {
	line := ""
	switch w.Kind {
	case control.WaitQueuePause:
		line = T("the queue is paused")
	case control.WaitAllowance:
		line = T("the provider has nothing left for now")
	case control.WaitLearnedLimit:
		return Tf("one request every %s, as the provider taught", Span(w.SpacingMs))
	case control.WaitQuotaWindow:
		line = T("a quota window is used up")
	case control.WaitProviderWindow:
		line = T("the provider rests")
	}
	if w.Model != "" {
		line = w.Model + ": " + line
	}
	if w.Until != nil {
		line += ", " + Until(*w.Until, now)
	}
	return line
}

func lockLine(l control.Lockout, now time.Time) string {
	if why := Reason(l.Reason); why != "" {
		return Tf("%s: %s, %s", l.Model, why, Until(l.Until, now))
	}
	return l.Model + ": " + Until(l.Until, now)
}

// Locked returns the lockouts of a connection that have not run out.
func Locked(c control.Connection, now time.Time) []control.Lockout {
	var out []control.Lockout
	for _, l := range c.Lockouts {
		if l.Until.After(now) {
			out = append(out, l)
		}
	}
	return out
}

// end is when the last of what keeps a connection out has run out; zero when
// nothing does or no time cures it.
func end(c *control.Connection, now time.Time) time.Time {
	var out time.Time
	later := func(t *time.Time) {
		if t != nil && t.After(now) && t.After(out) {
			out = *t
		}
	}
	if c.State != control.StateServing && c.State != control.StateOff {
		later(c.Until)
	}
	later(c.RateLimitedUntil)
	for _, l := range c.Lockouts {
		later(&l.Until)
	}
	for _, w := range c.Waits {
		later(w.Until)
	}
	return out
}

// sidelined reports whether a connection, or a model of it, is out of routing
// for a reason that is not the user's own switch.
func sidelined(c *control.Connection, now time.Time) bool {
	if out(c, now) {
		return true
	}
	switch c.State {
	case control.StateOff, control.StateServing, control.StateDegraded:
		return false
	}
	return true
}

// Clearable reports whether a clear changes anything: there is a cooldown, a
// lockout or another wait, and no terminal state above it.
func Clearable(c *control.Connection, now time.Time) bool {
	return !c.State.Terminal() && (out(c, now) || len(c.Waits) > 0)
}

// out reports whether something that a clear lifts keeps requests out.
func out(c *control.Connection, now time.Time) bool {
	if c.State.Terminal() {
		return false
	}
	if slices.ContainsFunc(c.Waits, func(w control.Wait) bool { return w.Kind.Holds() && (w.Until == nil || w.Until.After(now)) }) {
		return true
	}
	return c.State == control.StateWrongAddress || c.NeedsAttention != nil || c.State == control.StateCooling || c.State == control.StateModelLocked ||
		c.RateLimitedUntil != nil && c.RateLimitedUntil.After(now) || anyLocked(c, now)
}

func anyLocked(c *control.Connection, now time.Time) bool {
	return slices.ContainsFunc(c.Lockouts, func(l control.Lockout) bool { return l.Until.After(now) })
}

// Sidelined returns how many lines the cooldown manager lists, for the rail's
// count.
func Sidelined(s control.Snapshot, now time.Time) int {
	n := 0
	for i := range s.Connections {
		if sidelined(&s.Connections[i], now) {
			n++
		}
	}
	return n
}

// CooldownsLine is the header line of the cooldowns page.
func CooldownsLine(s control.Snapshot, now time.Time) string {
	out, terminal, models := 0, 0, 0
	for i := range s.Connections {
		c := &s.Connections[i]
		switch {
		case c.State.Stuck(), c.State == control.StateNeedsAttention:
			terminal++
		case c.State != control.StateOff && !c.State.Available():
			out++
		}
		for _, l := range c.Lockouts {
			if l.Until.After(now) {
				models++
			}
		}
	}
	var parts []string
	switch {
	case out == 1:
		parts = append(parts, T("1 comes back by itself."))
	case out > 1:
		parts = append(parts, Tf("%d come back by themselves.", out))
	}
	switch {
	case terminal == 1:
		parts = append(parts, T("1 needs you."))
	case terminal > 1:
		parts = append(parts, Tf("%d need you.", terminal))
	}
	switch {
	case models == 1:
		parts = append(parts, T("1 model is locked."))
	case models > 1:
		parts = append(parts, Tf("%d models are locked.", models))
	}
	if parts == nil {
		return T("Everything is in routing.")
	}
	return strings.Join(parts, " ")
}

// Clearing is what a clear of some connections would do.
type Clearing struct {
	IDs      []string // to be cleared
	Lockouts int      // model lockouts that go with them
	Terminal int      // passed over
}

// ClearingOf works out a clear of connections: those named, or all of a
// provider when no names are given, or all.
func ClearingOf(s control.Snapshot, ids []string, provider string, now time.Time) Clearing {
	var out Clearing
	for i := range s.Connections {
		c := &s.Connections[i]
		if ids != nil && !slices.Contains(ids, c.ID) || ids == nil && provider != "" && c.Provider != provider {
			continue
		}
		switch {
		case c.State.Terminal():
			out.Terminal++
		case Clearable(c, now):
			out.IDs = append(out.IDs, c.ID)
			out.Lockouts += len(Locked(*c, now))
		}
	}
	return out
}

// Told returns the result of a clear in one line.
func (c Clearing) Told() string {
	var parts []string
	switch n := len(c.IDs); n {
	case 0:
		parts = append(parts, T("Nothing was there to clear."))
	case 1:
		parts = append(parts, T("1 connection is back in routing."))
	default:
		parts = append(parts, Tf("%d connections are back in routing.", n))
	}
	if c.Lockouts == 1 {
		parts = append(parts, T("1 model was unlocked with it."))
	} else if c.Lockouts > 1 {
		parts = append(parts, Tf("%d models were unlocked with it.", c.Lockouts))
	}
	if c.Terminal == 1 {
		parts = append(parts, T("1 was passed over: it needs a new key, credit or sign-in."))
	} else if c.Terminal > 1 {
		parts = append(parts, Tf("%d were passed over: they need a new key, credit or sign-in.", c.Terminal))
	}
	return strings.Join(parts, " ")
}

// Unlocked returns the result of lifting lockouts in one line.
func Unlocked(n int) string {
	switch n {
	case 0:
		return T("Nothing was locked any more.")
	case 1:
		return T("1 model is asked again.")
	}
	return Tf("%d models are asked again.", n)
}

package control

import (
	"slices"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/quota"
	"breakwater/resilience/slow"
)

// engineWaits are the cooldowns, lockouts, breakers and opt-in windows.
type engineWaits struct{ s *Service }

// Lift implements WaitMemory.
func (w engineWaits) Lift(l *Lifting) {
	e := w.s.engine
	if l.Event == BreakersReset {
		if l.Breakers == nil {
			l.Lifted = e.ResetBreakers()
		} else {
			l.Lifted = e.ResetProvider(l.Breakers...)
		}
		return
	}
	for _, r := range l.Routes {
		switch id := r.Record.ID; l.Event {
		case WaitsCleared:
			e.ClearConnection(id)
		case KeyChanged:
			e.ResetConnection(id)
		case ListRead, TokenGenerated:
			e.TestPassed(id, l.Model)
		case ModelsUnlocked:
			l.Lifted += e.ClearLockouts("", id, l.Model)
		case UsageProved:
			resilience.QuotaProved(e, id)
		case AddressChanged:
			e.AddressChanged(id)
		case ConnectionGone:
			e.Remove(id)
		case BreakersReset, CoolingOff: // the engine lifts the cooldown when it is told of the switch
		}
	}
}

// Show implements WaitMemory.
func (w engineWaits) Show(r *Route, c *Connection) {
	s := w.s
	st := s.engine.ConnectionStatus(r.Conn)
	c.State, c.Until, c.TestStatus = State(st.State), s.Real(st.Until), st.TestStatus
	c.RateLimitedUntil, c.BackoffLevel = s.Real(st.RateLimitedUntil), st.BackoffLevel
	c.Reason, c.Source, c.RawHint, c.Words = string(st.Reason), st.LastErrorSource, st.RawHint, st.Words
	if st.Attention.Needed() {
		c.NeedsAttention = &Attention{Since: *s.Real(st.Attention.Since), Words: st.Attention.Words}
	}
	c.ErrorCode, c.LastErrorType, c.LastErrorAt = st.ErrorCode, st.LastErrorType, s.Real(st.LastErrorAt)
	for _, l := range st.Lockouts {
		c.Lockouts = append(c.Lockouts, Lockout{Model: l.Model, Reason: l.Reason, Until: *s.Real(l.Until), FailureCount: l.FailureCount})
	}
	if !st.GatedUntil.IsZero() {
		c.Waits = append(c.Waits, Wait{Kind: WaitProviderWindow, Until: s.Real(st.GatedUntil)})
	}
}

// queueWaits are the pauses, allowances and learned limits of the queues.
type queueWaits struct{ s *Service }

// Lift implements WaitMemory.
func (w queueWaits) Lift(l *Lifting) {
	q := w.s.queues
	switch l.Event {
	case WaitsCleared, KeyChanged, UsageProved, ConnectionGone:
		for _, r := range l.Routes {
			q.Forget(r.Record.ID)
		}
	case CoolingOff:
		for _, r := range l.Routes {
			q.Resume(func(id string) bool { return id == r.Record.ID })
		}
	case BreakersReset:
		q.Resume(func(id string) bool {
			r, ok := w.s.Route(id)
			return ok && (l.Breakers == nil || slices.Contains(l.Breakers, r.breakerName()))
		})
	case ModelsUnlocked:
		for _, r := range l.Routes {
			q.ResumeModel(r.Record.ID, l.Model)
		}
	case ListRead, TokenGenerated, AddressChanged: // what a queue remembers was stated
	}
}

// Show implements WaitMemory.
func (w queueWaits) Show(r *Route, c *Connection) {
	now := time.Now()
	after := func(d time.Duration) *time.Time { return new(now.Add(d).Round(10 * time.Millisecond)) }
	for _, v := range w.s.queues.ViewsOf(r.Record.ID) {
		model := ""
		if v.Scoped {
			model = v.Model
		}
		if v.Pause > 0 {
			c.Waits = append(c.Waits, Wait{Kind: WaitQueuePause, Model: model, Until: after(v.Pause)})
			if !v.Scoped && c.State.Available() { // it refuses all the same
				c.State, c.Until = StateCooling, after(v.Pause)
			}
		}
		if v.Allowance > 0 {
			c.Waits = append(c.Waits, Wait{Kind: WaitAllowance, Model: model, Until: after(v.Allowance)})
		}
		if v.Learned > 0 || v.Limit > 0 {
			c.Waits = append(c.Waits, Wait{Kind: WaitLearnedLimit, Model: model, SpacingMs: v.Learned.Milliseconds(), Limit: v.Limit})
		}
	}
}

// quotaWaits are the quota windows.
type quotaWaits struct{ s *Service }

// Lift implements WaitMemory.
func (w quotaWaits) Lift(l *Lifting) {
	switch l.Event {
	case WaitsCleared, KeyChanged, ConnectionGone:
		for _, r := range l.Routes {
			w.s.quota.Forget(r.Record.ID)
		}
	case ListRead, TokenGenerated, BreakersReset, ModelsUnlocked, UsageProved, CoolingOff, AddressChanged: // new figures replace the old ones
	}
}

// Show implements WaitMemory.
func (w quotaWaits) Show(r *Route, c *Connection) {
	snap, now := w.s.quota.Get(r.Record.ID), w.s.Now()
	if snap == nil {
		return
	}
	for i := range snap.Windows {
		win := &snap.Windows[i]
		if left, known := win.Remaining(now); known && left <= 0 {
			c.Waits = append(c.Waits, Wait{Kind: WaitQuotaWindow, Model: win.Scope, Until: w.s.Real(win.ResetAt)})
		}
	}
}

// proves reports whether figures of the usage endpoint show that no window is
// used up.
func proves(snap *quota.Snapshot, now time.Time) bool {
	if snap == nil || snap.LimitReached {
		return false
	}
	some := false
	for i := range snap.Windows {
		left, known := snap.Windows[i].Remaining(now)
		if known && left <= 0 {
			return false
		}
		some = some || known
	}
	return some
}

// claudeWaits are the low-priority lane and the limit reset of Claude
// subscriptions.
type claudeWaits struct{ s *Service }

// Lift implements WaitMemory.
func (w claudeWaits) Lift(l *Lifting) {
	c := w.s.claude
	for _, r := range l.Routes {
		switch id := r.Record.ID; l.Event {
		case WaitsCleared:
			c.lanes.Lift(id)
			c.resets.CheckAgain(id)
		case KeyChanged, ConnectionGone:
			c.forget(id)
		case ListRead, TokenGenerated, BreakersReset, ModelsUnlocked, UsageProved, CoolingOff, AddressChanged: // stated by Claude
		}
	}
}

// Show implements WaitMemory.
func (w claudeWaits) Show(r *Route, c *Connection) { w.s.claudeView(r, c) }

// refreshWaits are the pauses of refreshing stored logins.
type refreshWaits struct{ s *Service }

// Lift implements WaitMemory.
func (w refreshWaits) Lift(l *Lifting) {
	s := w.s
	if l.Event == BreakersReset && l.Breakers == nil {
		s.guard.Reset()
		return
	}
	for _, r := range l.Routes {
		switch l.Event {
		case WaitsCleared, ListRead, TokenGenerated:
			s.retryRefresh(r)
		case KeyChanged:
			s.guard.Forget(connectionGuard(r.Record.ID))
			s.retryRefresh(r)
		case BreakersReset:
			s.guard.Forget(s.guardKey(r))
		case ConnectionGone:
			s.guard.Forget(connectionGuard(r.Record.ID))
		case ModelsUnlocked, UsageProved, CoolingOff, AddressChanged:
		}
	}
}

// Show implements WaitMemory.
func (w refreshWaits) Show(r *Route, c *Connection) { c.LoginRefresh = w.s.refreshView(r) }

// slowWaits are the targets that are asked last (ruling 69).
type slowWaits struct{ s *Service }

// Lift implements WaitMemory.
func (w slowWaits) Lift(l *Lifting) {
	for _, r := range l.Routes {
		switch id := r.Record.ID; l.Event {
		case WaitsCleared, KeyChanged, ConnectionGone:
			w.s.slow.Forget(id)
		case TokenGenerated:
			w.s.slow.Answered(slow.Key{Connection: id, Model: l.Model})
		case ListRead, BreakersReset, ModelsUnlocked, UsageProved, CoolingOff, AddressChanged:
		}
	}
}

// Show implements WaitMemory.
func (w slowWaits) Show(r *Route, c *Connection) { w.s.slowUntil(r, c) }

package claude

import "time"

// LaneState is the condition of a lane, for views.
type LaneState string

// The states, the one that explains most first.
const (
	LaneActive      LaneState = "active"
	LaneBudgetSpent LaneState = "budget_spent"
	LaneCoolingOff  LaneState = "cooling_off"
	LaneIdle        LaneState = "idle"
)

// LaneStatus is everything a view shows of one lane.
type LaneStatus struct {
	Key    Key
	State  LaneState
	Since  time.Time // entered, or left; zero: never entered
	Until  time.Time // when State ends by itself, zero for idle
	Reason EndReason // why it last ended, empty while active

	RetryAfter, MaxWait    time.Duration // as announced, clamped
	RequestsServed         int           // slow
	RequestsServedStandard int           // at normal speed, the lane was not needed
	BudgetUtilization      float64       // 0 to 1
	BudgetKnown            bool
	BudgetSpentUntil       time.Time // zero: not spent
	CoolingOffUntil        time.Time // zero: not cooling off
}

// Status returns the lanes of a connection that there is something to say
// about, the oldest first; passthrough connections may have several.
func (s *Lanes) Status(now time.Time, connection string) []LaneStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []LaneStatus
	for _, k := range s.known.of(connection) {
		s.live(now, k)
		list = append(list, s.known.get(k).status(now, k))
	}
	return list
}

func (l *lane) status(now time.Time, k Key) LaneStatus {
	st := LaneStatus{
		Key: k, State: LaneIdle, Since: l.since, Reason: l.reason, RetryAfter: l.retryAfter, MaxWait: l.maxWait,
		RequestsServed: l.served, RequestsServedStandard: l.standard, BudgetUtilization: l.used, BudgetKnown: l.usedKnown,
		BudgetSpentUntil: l.budget.ahead(now), CoolingOffUntil: l.cooling.ahead(now),
	}
	switch {
	case l.active:
		st.State, st.Until = LaneActive, l.end.until
	case !st.BudgetSpentUntil.IsZero():
		st.State, st.Until = LaneBudgetSpent, st.BudgetSpentUntil
	case !st.CoolingOffUntil.IsZero():
		st.State, st.Until = LaneCoolingOff, st.CoolingOffUntil
	}
	return st
}

package control

import (
	"time"

	"breakwater/resilience/oauth"
)

// LoginRefresh tells that a stored login is not refreshed as it should be.
type LoginRefresh struct {
	// State is that of the breaker around the refresh: CLOSED, OPEN or HALF_OPEN.
	State            string     `json:"state"`
	Failures         int64      `json:"failures"` // in a row, as tokenRefreshBreaker.scope counts
	FailureThreshold int64      `json:"failureThreshold"`
	Until            *time.Time `json:"until,omitempty"` // no refresh before
}

// guardRules are the figures of tokenRefreshBreaker in force.
func (s *Service) guardRules() oauth.GuardRules {
	b := &s.InForce().TokenRefreshBreaker
	return oauth.GuardRules{Threshold: b.FailureThreshold, Cooldown: time.Duration(b.CooldownMs) * time.Millisecond}
}

// guardKey names what the failures are counted for: the provider, at the
// address at which the login is refreshed and by the way that leads there, or
// the connection alone. It holds no secret.
func (s *Service) guardKey(r *Route) string {
	if s.InForce().TokenRefreshBreaker.Scope == "connection" {
		return connectionGuard(r.Record.ID)
	}
	key := "provider " + r.breakerName() + " " + r.tokenURL()
	if r.Record.ProxyURL != "" {
		key += " by " + r.Record.ProxyURL
	}
	return key
}

func connectionGuard(id string) string { return "connection " + id }

// refreshed tells the guard how a refresh went. A login that is refused says
// nothing about the endpoint: it has answered.
func (s *Service) refreshed(p guardTicket, err error) {
	result := oauth.GuardFailed
	switch {
	case err == nil:
		result = oauth.GuardPassed
	case LoginExpired(err), s.claude.life.Err() != nil:
		result = oauth.GuardNeutral
	}
	if rules := s.guardRules(); s.guard.Report(s.Now(), p.key, rules, p.permit, result) {
		s.cfg.Log.Warn("logins are not refreshed for a while", "for", p.key, "pause", rules.Cooldown)
	}
}

// guardTicket is an admitted refresh, with the key under which it was.
type guardTicket struct {
	key    string
	permit oauth.GuardPermit
}

// admitRefresh asks the guard for a refresh.
func (s *Service) admitRefresh(r *Route) (guardTicket, bool) {
	key := s.guardKey(r)
	permit, ok := s.guard.Begin(s.Now(), key, s.guardRules())
	return guardTicket{key, permit}, ok
}

// RefreshPause returns how long the connection's login is not refreshed again
// after failures, its own or its provider's; at least a second.
func (s *Service) RefreshPause(r *Route) time.Duration {
	return max(s.refreshRests(r).Sub(s.Now()), time.Second)
}

// refreshRests is until when the login is not refreshed, in core time; a past
// moment when it may be.
func (s *Service) refreshRests(r *Route) time.Time {
	if r.login == nil {
		return time.Time{}
	}
	until := s.guard.Status(s.Now(), s.guardKey(r), s.guardRules()).Until
	r.login.mu.Lock()
	defer r.login.mu.Unlock()
	if r.login.blocked.After(until) {
		return r.login.blocked
	}
	return until
}

// retryRefresh lets the login be refreshed at once: a person has asked for
// another try.
func (s *Service) retryRefresh(r *Route) {
	if r.login == nil {
		return
	}
	r.login.unblock()
	s.guard.Retry(s.guardKey(r))
}

// refreshView tells how it stands with refreshing a connection's login, nil
// while there is nothing to tell.
func (s *Service) refreshView(r *Route) *LoginRefresh {
	if r.login == nil {
		return nil
	}
	st := s.guard.Status(s.Now(), s.guardKey(r), s.guardRules())
	v := &LoginRefresh{State: string(st.State), Failures: st.Failures, FailureThreshold: s.guardRules().Threshold}
	if until := s.refreshRests(r); until.After(s.Now()) {
		v.Until = s.Real(until)
	}
	if v.Until == nil && st.Failures == 0 {
		return nil
	}
	return v
}

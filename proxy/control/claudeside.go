package control

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/resilience/claude"
	"breakwater/resilience/quota"
)

// SideCall is a request to Anthropic's API beside the traffic.
type SideCall struct {
	claude.SideCall
	BaseURL string
	Proxy   string // Route.Proxy of the connection
	Bearer  string // goes to BaseURL and nowhere else; empty: none is sent
}

// side makes a call beside the traffic. Whatever goes wrong is a reply that
// failed.
func (s *Service) side(ctx context.Context, r *Route, bearer string, call claude.SideCall) claude.Reply {
	return s.sideCall(ctx, SideCall{SideCall: call, BaseURL: s.claudeBaseURL(r), Proxy: r.proxy, Bearer: bearer})
}

func (s *Service) sideCall(ctx context.Context, c SideCall) (reply claude.Reply) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("a side call broke", "path", c.Path, "panic", fmt.Sprint(p))
			reply = claude.Reply{Failed: true}
		}
	}()
	if s.cfg.SideCall == nil {
		return claude.Reply{Failed: true}
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return s.cfg.SideCall(ctx, c)
}

// claudeBaseURL is where the side calls of a connection go. A client's own
// login goes to the provider's own host; only this machine may stand in for it
// (ruling 34).
func (s *Service) claudeBaseURL(r *Route) string {
	base := cmp.Or(s.Config().ClaudeBaseURL, claude.BaseURL)
	if r.Credential() == catalog.PassthroughCredential && !isLoopbackURL(base) {
		return claude.BaseURL
	}
	return base
}

// claimReset makes one attempt at the limit reset, shared by everybody who
// asks for the same key meanwhile.
func (s *Service) claimReset(ctx context.Context, c *ClaudeCall) bool {
	subs := s.claude
	organization := cmp.Or(c.route.Record.OrganizationUUID, c.route.organization(), c.organization)
	done := subs.claims.DoChan(c.key.String(), func() (any, error) {
		if !subs.begin() {
			return false, nil
		}
		defer subs.calls.Done()
		claim := subs.resets.Begin(c.key, organization)
		step := claim.Start(s.Now())
		for step.Do != claude.Done {
			step = claim.Feed(s.Now(), s.side(subs.life, c.route, c.bearer, step.Call))
		}
		return step.Granted(), nil
	})
	select {
	case res := <-done:
		return res.Val.(bool)
	case <-ctx.Done():
	case <-subs.life.Done():
	}
	return false
}

// wantedFor is how long a look at the windows keeps them wanted.
const wantedFor = 5 * time.Minute

func (c *subscriptions) want(connection string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted[connection] = now
}

// usageWanted reports whether something depends on fresh figures of a
// connection's windows: the preflight, or a window that is looked at. Idle
// connections are never asked about (Claude sheet §3.7).
func (s *Service) usageWanted(connection string, now time.Time) bool {
	if s.InForce().QuotaPreflight.Enabled {
		return true
	}
	c := s.claude
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.wanted[connection]
	return ok && now.Sub(at).Abs() < wantedFor
}

// askUsage has the usage endpoint asked with the token that is stored for the
// connection, if there is one and it is time. It does not wait.
func (s *Service) askUsage(r *Route) {
	if r.Credential() != catalog.PassthroughCredential && r.Record.Active && s.usable(r) {
		s.refreshUsage(r, claude.KeyOf(r.Record.ID, "", false), r.Key())
	}
}

// refreshUsage asks the usage endpoint beside the request, if it is time.
func (s *Service) refreshUsage(r *Route, k claude.Key, bearer string) {
	subs := s.claude
	if bearer == "" || !subs.usages.Due(s.Now(), k) || !subs.begin() {
		return
	}
	go func() {
		defer subs.calls.Done()
		reply := s.side(subs.life, r, bearer, claude.UsageCall())
		now := s.Now()
		subs.usages.Take(now, k, reply)
		if reply.Status == 200 {
			if snap, err := quota.FromUsage(reply.Body, now); err == nil && len(snap.Windows) > 0 {
				before := s.quota.Get(r.Record.ID)
				s.quota.Put(r.Record.ID, snap)
				s.tellLow(r, before, s.quota.Get(r.Record.ID))
				if proves(&snap, now) {
					s.liftOf(UsageProved, r)
				}
			}
		}
		s.markState()
	}()
}

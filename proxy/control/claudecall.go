package control

import (
	"context"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/resilience/claude"
)

// ClaudeAsk is what decides whether a request takes part in the lane and the
// limit reset.
type ClaudeAsk struct {
	Bearer      string // the token that the upstream will see
	CountTokens bool   // no generation
	OwnLane     bool   // the client drives a lane of its own
}

// ClaudeCall follows one request on one Claude connection through all its
// attempts there. It belongs to one goroutine.
type ClaudeCall struct {
	s            *Service
	route        *Route
	key          claude.Key
	bearer       string
	organization string          // as the last answer named it
	lane         *claude.Request // nil: the request has no part in lane and reset
	changed      <-chan struct{}
}

// OpenClaude begins a request. It returns nil unless the connection is a
// Claude subscription that sends an OAuth token.
func (s *Service) OpenClaude(r *Route, q ClaudeAsk) *ClaudeCall {
	call := claude.Call{Provider: r.Provider.ID, Bearer: q.Bearer}
	if !call.Applies() {
		return nil
	}
	c := &ClaudeCall{
		s: s, route: r, bearer: q.Bearer, changed: s.claude.signal(r.Record.ID),
		key: claude.KeyOf(r.Record.ID, q.Bearer, r.Credential() == catalog.PassthroughCredential),
	}
	call.CountTokens, call.OwnLane = q.CountTokens, q.OwnLane
	if call.Applies() {
		c.lane = s.claude.lanes.Open(c.key, r.Record.claudeSwitches(), s.Now(), r.StartTimeout())
	}
	return c
}

// claudeSwitches are the two opt-ins of a connection.
func (r *ConnectionRecord) claudeSwitches() claude.Switches {
	return claude.Switches{LowPriority: r.LowPriorityMode, AutoReset: r.AutoLimitReset}
}

// StartTimeout is how long a Claude connection may take until its answer
// begins (ruling 21); zero leaves it to the settings.
func (r *Route) StartTimeout() time.Duration {
	if r.Provider.ID != claude.ProviderID {
		return 0
	}
	return claude.StartTimeout(r.Record.TimeoutMs)
}

// SetBearer tells that the login was refreshed.
func (c *ClaudeCall) SetBearer(bearer string) { c.bearer = bearer }

// Header is asked before each attempt, after all other headers are set; the
// header it names is added when send is true.
func (c *ClaudeCall) Header() (name, value string, send bool) {
	if c.lane == nil {
		return "", "", false
	}
	return c.lane.Header(c.s.Now())
}

// Answer is told of every answer: it learns the windows, and says what the
// answer means for the lane before anybody else judges it.
func (c *ClaudeCall) Answer(status int, header map[string][]string) claude.Decision {
	now := c.s.Now()
	c.s.claude.usages.Observe(now, c.key, header)
	if org := claude.Organization(header); org != "" {
		c.organization = org
	}
	var d claude.Decision
	if c.lane != nil {
		d = c.lane.Answer(now, status, header)
	}
	// The reset asks the same endpoint itself.
	if d.Action != claude.AskReset && (claude.AtWall(status, header) || c.s.usageWanted(c.route.Record.ID, now)) {
		c.s.refreshUsage(c.route, c.key, c.bearer)
	}
	return d
}

// AskReset drives the limit reset, or waits for the attempt that is under way,
// and returns what to do then. The attempt goes on when ctx, the caller's,
// ends: others wait for it too.
func (c *ClaudeCall) AskReset(ctx context.Context) claude.Decision {
	granted := c.s.claimReset(ctx, c)
	if granted {
		c.s.quota.Forget(c.route.Record.ID)
	}
	return c.lane.AfterReset(c.s.Now(), granted)
}

// ResetOutcome is how the last attempt at the reset ended, and when the next
// may ask; nil: whenever it likes.
func (c *ClaudeCall) ResetOutcome() (outcome string, next *time.Time) {
	for _, st := range c.s.claude.resets.Status(c.s.Now(), c.route.Record.ID) {
		if st.Key == c.key {
			return string(st.Outcome), c.s.Real(st.Next)
		}
	}
	return "", nil
}

// LaneUntil is when the present lane ends by itself, nil without one.
func (c *ClaudeCall) LaneUntil() *time.Time {
	for _, l := range c.s.claude.lanes.Status(c.s.Now(), c.route.Record.ID) {
		if l.Key == c.key && l.State == claude.LaneActive {
			return c.s.Real(l.Until)
		}
	}
	return nil
}

// Wait lasts as long as d does in core time. It ends early with the caller's
// context, and when the lane's switch goes off or the connection does.
func (c *ClaudeCall) Wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	id := c.route.Record.ID
	c.s.claude.waits(id, 1)
	c.s.markState()
	defer func() {
		c.s.claude.waits(id, -1)
		c.s.markState()
	}()
	t := time.NewTimer(time.Until(c.s.real(c.s.Now().Add(d))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-c.changed:
		c.changed = c.s.claude.signal(id)
	case <-c.s.stop:
	}
}

// Stands reports whether the connection still is what the request began with:
// not deleted, not switched off, with the same credential.
func (c *ClaudeCall) Stands() bool {
	r, ok := c.s.Route(c.route.Record.ID)
	return ok && r.Record.Active && r.Record.Credential == c.route.Record.Credential && r.sameSecret(c.route)
}

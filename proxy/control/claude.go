package control

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"breakwater/resilience/claude"
)

// subscriptions is what the service keeps of Claude's low-priority lane, limit
// reset and quota windows (guide, "Límite de uso de Claude OAuth"). Memory only.
type subscriptions struct {
	lanes  *claude.Lanes
	resets *claude.Resets
	usages *claude.Usages
	claims singleflight.Group // one attempt a key at a time

	life    context.Context // of side calls, which outlive their first caller
	endLife context.CancelFunc
	calls   sync.WaitGroup

	news *backlog[claudeNews] // of lanes and resets, not published yet

	mu      sync.Mutex
	changed map[string]chan struct{} // closed when a connection's waits are over
	waiting map[string]int           // requests that wait for a slot
	wanted  map[string]time.Time     // when somebody last looked at the windows
}

// claudeNews is a change that a lane or a reset told of.
type claudeNews struct {
	connection string
	alert      Alert
}

func newSubscriptions() *subscriptions {
	c := &subscriptions{
		usages: claude.NewUsages(), changed: map[string]chan struct{}{}, waiting: map[string]int{},
		wanted: map[string]time.Time{}, news: newBacklog[claudeNews](),
	}
	c.life, c.endLife = context.WithCancel(context.Background())
	c.lanes = claude.NewLanes(rand.Float64, c.laneChanged)
	c.resets = claude.NewResets(c.resetChanged)
	return c
}

// laneChanged and resetChanged run under the lock of what they tell of, so
// they only queue.
func (c *subscriptions) laneChanged(l claude.LaneChange) {
	n := claudeNews{l.Key.Connection, Alert{Kind: AlertLaneEnded, Reason: string(l.Reason)}}
	if l.Entered {
		n.alert = Alert{Kind: AlertLaneEntered, Until: RealTime(l.Until)}
	}
	c.news.add(n)
}

func (c *subscriptions) resetChanged(r claude.ResetChange) {
	n := claudeNews{r.Key.Connection, Alert{Kind: AlertResetUnavailable, Reason: string(r.Outcome), Until: RealTime(r.Next)}}
	if r.Outcome.Granted() {
		n.alert.Kind = AlertResetClaimed
	}
	c.news.add(n)
}

// claudeNews publishes what lanes and resets tell, in order, until Close.
func (s *Service) claudeNews() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.claude.news.filled:
		}
		for _, n := range s.claude.news.take() {
			s.publishClaude(n)
		}
		s.markState()
	}
}

func (s *Service) publishClaude(n claudeNews) {
	a := n.alert
	a.ConnectionID = n.connection
	if r, ok := s.Route(n.connection); ok {
		a.ConnectionName, a.Provider, a.ProviderName = r.Record.Name, r.breakerName(), r.Provider.Name
	}
	if a.Until != nil {
		a.Until = s.Real(*a.Until)
	}
	s.cfg.Log.Info("a Claude subscription at its limit", "event", string(a.Kind), "connection", n.connection, "reason", a.Reason)
	s.Warn(a)
}

// signal returns the channel that closes when waits on the connection are over.
func (c *subscriptions) signal(connection string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.changed[connection]
	if ch == nil {
		ch = make(chan struct{})
		c.changed[connection] = ch
	}
	return ch
}

// wake ends the waits on a connection.
func (c *subscriptions) wake(connection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.changed[connection]; ch != nil {
		close(ch)
		delete(c.changed, connection)
	}
}

func (c *subscriptions) waits(connection string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[connection] += by; c.waiting[connection] <= 0 {
		delete(c.waiting, connection)
	}
}

// forget drops everything about a connection that was removed or has another
// credential.
func (c *subscriptions) forget(connection string) {
	c.lanes.Forget(connection)
	c.resets.Forget(connection)
	c.usages.Forget(connection)
	c.wake(connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.wanted, connection)
}

// begin counts a side call in, unless close has been called.
func (c *subscriptions) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return false
	}
	c.calls.Add(1)
	return true
}

// close ends the side calls.
func (c *subscriptions) close() {
	c.mu.Lock()
	c.endLife()
	c.mu.Unlock()
	c.calls.Wait()
}

// claudeEdited draws the conclusions of an edit: a lane ends when its switch
// goes off, waits end when the connection does (ruling 22).
func (s *Service) claudeEdited(old, next *Route) {
	if !isClaude(next.Provider) {
		return
	}
	id := next.Record.ID
	switch {
	case !old.sameSecret(next) || old.Record.Credential != next.Record.Credential:
		s.claude.forget(id)
		return
	case old.Record.LowPriorityMode && !next.Record.LowPriorityMode:
		s.claude.lanes.End(s.Now(), id)
		s.claude.wake(id)
	}
	if old.Record.Active && !next.Record.Active {
		s.claude.wake(id)
	}
}

// claudeRoute returns a connection that has a lane and a reset.
func (s *Service) claudeRoute(id string) (*Route, error) {
	r, ok := s.Route(id)
	if !ok {
		return nil, ErrNotFound
	}
	if !isClaude(r.Provider) {
		return nil, Invalid("id", "only Claude subscription connections have the low-priority lane and the limit reset")
	}
	return r, nil
}

// LeaveLane ends the low-priority lane of a connection. Requests that wait for
// a slot go on at once, without it.
func (s *Service) LeaveLane(_ context.Context, id string) error {
	r, err := s.claudeRoute(id)
	if err != nil {
		return err
	}
	s.claude.lanes.End(s.Now(), r.Record.ID)
	s.claude.wake(r.Record.ID)
	s.markState()
	return nil
}

// CheckLimitReset forgets that the limit reset was not available: the next
// request at the wall asks again (ruling 19).
func (s *Service) CheckLimitReset(_ context.Context, id string) error {
	r, err := s.claudeRoute(id)
	if err != nil {
		return err
	}
	s.claude.resets.CheckAgain(r.Record.ID)
	s.markState()
	return nil
}

// ClaudeUsage returns what is known of a Claude connection's windows and sees
// to it that figures which are old are asked for: at once where the token is
// stored, with the next request where it is the client's.
func (s *Service) ClaudeUsage(_ context.Context, id string) (ClaudeUsage, error) {
	r, err := s.claudeRoute(id)
	if err != nil {
		return ClaudeUsage{}, err
	}
	s.claude.want(id, s.Now())
	s.askUsage(r)
	u := s.usageView(id)
	if u == nil {
		return ClaudeUsage{Models: []ClaudeWindow{}}, nil
	}
	return *u, nil
}

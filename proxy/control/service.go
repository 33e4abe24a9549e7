package control

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/affinity"
	"breakwater/resilience/classify"
	"breakwater/resilience/claude"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
	"breakwater/resilience/oauth"
	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
	"breakwater/resilience/slow"
)

// Config is what a Service is made of.
type Config struct {
	Store   Store
	Secrets Secrets
	Log     *slog.Logger
	Version string
	// Endpoint is where clients reach the proxy, http://127.0.0.1:7411.
	Endpoint string
	// Clock is the resilience core's time. Real converts it to real time; nil
	// means that they are the same.
	Clock clock.Clock
	Real  func(time.Time) time.Time
	// Env looks up an environment variable; it seeds the resilience settings.
	// Nil knows none.
	Env settings.Lookup
	// SideCall makes a call to Anthropic's API beside the traffic; nil: none can
	// be made.
	SideCall func(ctx context.Context, c SideCall) claude.Reply
	// Tester asks a provider whether a connection's credential works.
	Tester func(ctx context.Context, r *Route) Tested
	// ModelLister fetches a provider's own model list; nil: none is fetched but by
	// tests.
	ModelLister func(ctx context.Context, r *Route) ([]ListedModel, error)
	// Proxies is told which outbound proxies connections name; nil: nobody is.
	Proxies func(inUse []string)
	// Roots reads a file of extra root certificates and returns what puts them in
	// force; nil: there is no such setting.
	Roots func(path string) (use func(), err error)
	// Panel is the demo's fault panel, nil outside the demo.
	Panel Panel
	// Drill plays a fault drill on a twin; nil: there is none.
	Drill func(ctx context.Context, t Twin) (DrillReport, error)
	// Quit ends the program.
	Quit func()
}

// Panel drives the demo's simulated connections and its clock.
type Panel interface {
	Demo() Demo
	Apply(DemoPatch) (Demo, error)
}

// Service is the Facade in the proxy's own process. It owns the registry of
// connections and the resilience engine.
type Service struct {
	cfg    Config
	engine *resilience.Engine
	hub    *hub
	leases leaseBook
	banned *backlog[string] // connections whose accounts were banned, to be switched off

	routes   atomic.Pointer[[]*Route] // in routing order
	byID     atomic.Pointer[map[string]*Route]
	settings atomic.Pointer[Settings]
	policy   atomic.Pointer[policy]
	queues   *admission.Queues
	gates    *admission.Gates
	quota    *quota.Ledger
	tools    *quota.ToolLimits
	claude   *subscriptions
	guard    *oauth.Guard // around the refreshing of stored logins
	affinity *affinity.Table
	// Memory of this process alone.
	occupancy     *affinity.Occupancy
	latency       *combo.Latency
	slow          slow.Table
	inForce       atomic.Pointer[settings.Settings]
	keys          atomic.Pointer[[]KeyRecord]
	keyNews       keyNews
	combos        atomic.Pointer[comboIndex]
	comboSettings atomic.Pointer[ComboSettings]
	plans         atomic.Pointer[planning]
	memory        *combo.State // what the strategies remember between requests
	egress        []string     // providers whose quota belongs to the outgoing address
	revision      atomic.Int64 // of the settings; written under edit
	pausedTo      atomic.Int64 // real Unix milliseconds up to which requests are refused
	desktop       atomic.Bool
	activity      atomic.Int64           // the newest id
	rootsLost     atomic.Pointer[string] // why the stored caFile is not in use; nil: it is
	seq           atomic.Uint64
	shows         atomic.Uint64 // requests to show the window
	version       atomic.Uint64 // changes of state
	waits         waitPlaces

	drilling sync.Mutex // one drill at a time
	edit     sync.Mutex // one command changes connections or settings at a time; never held over the keychain or a user's file
	secrets  turns      // one change at a time of the secrets of one connection, by its id

	stateDirty, useDirty chan struct{}
	listened             chan struct{} // somebody new listens
	loginsDirty          chan struct{} // which logins are to be looked at
	stop                 chan struct{}
	done                 sync.WaitGroup
}

var _ Facade = (*Service)(nil)

// appSettings is the key under which Settings are stored.
const appSettings = "app"

// New loads the stored connections and settings and starts the service. Close
// ends it.
func New(ctx context.Context, cfg Config) (*Service, error) {
	s := &Service{
		cfg: cfg, hub: newHub(), queues: admission.NewQueues(), gates: admission.NewGates(), quota: quota.NewLedger(), claude: newSubscriptions(),
		guard: oauth.NewGuard(), banned: newBacklog[string](),
		affinity: affinity.New(cfg.Store), occupancy: affinity.NewOccupancy(), latency: combo.NewLatency(),
		stateDirty: make(chan struct{}, 1), listened: make(chan struct{}, 1), useDirty: make(chan struct{}, 1), loginsDirty: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	s.leases.changed = make(chan struct{}, 1)
	s.rememberOwn()
	s.engine = resilience.New(resilience.Config{
		Clock: cfg.Clock, Settings: settings.Seeded(s.env), Store: cfg.Store, OnChange: s.changed,
	})
	s.tools = quota.NewToolLimits(s.env("OMNIROUTE_MAX_TOOLS_LIMIT"))
	s.egress = classify.EgressProviders(s.env("OMNIROUTE_EGRESS_IP_LOCK_PROVIDERS"))
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	s.done.Go(s.publish)
	s.done.Go(s.claudeNews)
	s.done.Go(s.watchLogins)
	cfg.Store.OnNotice(s.markState)
	s.done.Go(func() { s.upkeep(context.WithoutCancel(ctx)) })
	s.done.Go(func() { s.watchLeases(context.WithoutCancel(ctx)) })
	s.done.Go(func() { s.switchOffBanned(context.WithoutCancel(ctx)) })
	return s, nil
}

// Close stops publishing and the upkeep. The store is the caller's to close.
func (s *Service) Close() {
	close(s.stop)
	s.claude.close()
	s.done.Wait()
}

// Engine returns the resilience engine behind the service.
func (s *Service) Engine() *resilience.Engine { return s.engine }

// SetDesktop tells whether a tray is attached that can show windows.
func (s *Service) SetDesktop(on bool) { s.desktop.Store(on) }

// setRoutes puts the routes in force, in routing order.
func (s *Service) setRoutes(routes []*Route) {
	slices.SortStableFunc(routes, func(a, b *Route) int {
		return cmp.Or(cmp.Compare(a.Record.Priority, b.Record.Priority), a.Record.CreatedAt.Compare(b.Record.CreatedAt))
	})
	byID := make(map[string]*Route, len(routes))
	for _, r := range routes {
		byID[r.Record.ID] = r
	}
	s.byID.Store(&byID)
	s.routes.Store(&routes)
	if s.cfg.Proxies != nil {
		s.cfg.Proxies(proxiesInUse(routes))
	}
	s.configureQueues()
	s.replan()
	mark(s.loginsDirty)
	s.markState()
}

// configureQueues puts the admission queues under the present settings and
// connections; what waits or runs follows at once.
func (s *Service) configureQueues() {
	routes := s.routes.Load()
	if routes == nil {
		return // not loaded yet
	}
	conns := make([]admission.Conn, len(*routes))
	for i, r := range *routes {
		conns[i] = admission.Conn{
			ID: r.Record.ID, Provider: r.Provider.ID, APIKey: r.Provider.Profile == settings.APIKey, Active: r.Record.Active,
			Protect: r.Record.RateLimitProtection, Overrides: r.Record.RateLimitOverrides,
		}
	}
	set := s.engine.Settings()
	s.queues.Configure(&set, conns)
}

// Queues returns the admission queues of the connections (guide §4).
func (s *Service) Queues() *admission.Queues { return s.queues }

// Routes returns the connections in routing order. The slice must not be
// changed.
func (s *Service) Routes() []*Route { return *s.routes.Load() }

// Route returns one connection.
func (s *Service) Route(id string) (*Route, bool) {
	r, ok := (*s.byID.Load())[id]
	return r, ok
}

// Paused reports whether new requests are refused.
func (s *Service) Paused() bool {
	paused, _ := s.pausedUntil()
	return paused
}

// Config returns the product's settings as they are now.
func (s *Service) Config() Settings { return *s.settings.Load() }

// EgressProbeURL returns the setting of that name.
func (s *Service) EgressProbeURL() string { return s.settings.Load().EgressProbeURL }

// Now returns the core's time.
func (s *Service) Now() time.Time { return s.cfg.Clock.Now() }

// real converts a time of the core to real time.
func (s *Service) real(t time.Time) time.Time {
	if s.cfg.Real == nil || t.IsZero() {
		return t
	}
	return s.cfg.Real(t)
}

// Real converts a time of the core to a real time, nil for the zero time. It
// is rounded, so that a deadline looks the same whenever it is asked for.
func (s *Service) Real(t time.Time) *time.Time {
	return RealTime(s.real(t).Round(10 * time.Millisecond))
}

// Finished records the end of a request: it gets its id, goes to the log and
// to whoever listens.
func (s *Service) Finished(a Activity) {
	a.ID = s.activity.Add(1)
	s.cfg.Store.AppendActivity(a)
	if !s.hub.empty() {
		told := a // only what somebody hears of outlives the call
		s.hub.publish(Event{Type: EventActivity, Activity: &told})
	}
	s.MarkUse()
}

// Lost is how many rows of activity could not be kept since the start.
func (s *Service) Lost() int64 { return s.cfg.Store.Lost() }

// Warn publishes an alert.
func (s *Service) Warn(a Alert) {
	a.At = time.Now().Round(0)
	s.hub.publish(Event{Type: EventAlert, Alert: &a})
}

// newID returns a fresh id for a connection.
func newID() string { return rand.Text() }

// markState tells that something other than the counters has changed.
func (s *Service) markState() {
	s.version.Add(1)
	mark(s.stateDirty)
}

// Version counts the changes of state; those of counters alone are left out.
func (s *Service) Version() uint64 { return s.version.Load() }

// MarkUse tells that a connection's counters have changed.
func (s *Service) MarkUse() { mark(s.useDirty) }

func mark(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package control

import "time"

// State is the one vocabulary for the condition of a connection, the same in
// tray, windows, notifications, command line and API.
type State string

// The states of a connection, from most to least in its own hands.
const (
	StateServing          State = "serving"
	StateDegraded         State = "degraded"          // provider breaker DEGRADED: still served
	StateCooling          State = "cooling"           // connection cooldown
	StateModelLocked      State = "model_locked"      // at least one model is locked out
	StateNeedsAttention   State = "needs_attention"   // refuses again and again: asked last, still asked
	StateWrongAddress     State = "wrong_address"     // what answers there is not the API; time does not end it
	StateOpen             State = "open"              // provider breaker OPEN
	StateProbing          State = "probing"           // provider breaker HALF_OPEN
	StateBanned           State = "banned"            // terminal
	StateExpired          State = "expired"           // terminal
	StateCreditsExhausted State = "credits_exhausted" // terminal
	StateKeyMissing       State = "key_missing"       // its stored key is gone, type it again
	StateOff              State = "off"               // switched off by the user
)

// Terminal reports one of the guide's terminal states: a clear does not lift it.
func (s State) Terminal() bool {
	return s == StateBanned || s == StateExpired || s == StateCreditsExhausted
}

// Stuck reports whether no waiting cures the state.
func (s State) Stuck() bool { return s.Terminal() || s == StateWrongAddress }

// Available reports whether requests are sent to a connection in this state.
func (s State) Available() bool {
	return s == StateServing || s == StateDegraded || s == StateModelLocked || s == StateProbing || s == StateNeedsAttention
}

// Health is the condition of the whole product: the tray icon's states.
type Health string

// The states of the tray icon.
const (
	HealthIdle        Health = "idle"        // no connection is set up and enabled
	HealthWell        Health = "well"        // every enabled connection serves
	HealthDegraded    Health = "degraded"    // something is slow to trust, nothing is out
	HealthTrouble     Health = "trouble"     // something is open, cooling or terminal; the rest serves
	HealthUnavailable Health = "unavailable" // no enabled connection takes requests
	HealthDown        Health = "down"        // paused, or the proxy is not reachable
)

// Snapshot is everything a tray or a window shows, at one moment.
type Snapshot struct {
	Seq         uint64       `json:"seq"`
	At          time.Time    `json:"at"`
	Version     string       `json:"version"`
	Endpoint    string       `json:"endpoint"` // where clients point at, http://127.0.0.1:7411
	Paused      bool         `json:"paused"`
	PausedUntil *time.Time   `json:"pausedUntil,omitempty"` // when a pause ends by itself
	Demo        bool         `json:"demo"`
	Health      Health       `json:"health"`
	Connections []Connection `json:"connections"` // in routing order
	Breakers    []Breaker    `json:"breakers"`
	Combos      []ComboBrief `json:"combos"` // in the user's order
	Notices     []Notice     `json:"notices,omitempty"`
	// Storage says why changes cannot be saved at present, nil when they are.
	Storage *StorageFault `json:"storage,omitempty"`
	// SecretsIn says where keys are kept: "keychain", or "file" for an encrypted
	// file in the data folder.
	SecretsIn string `json:"secretsIn,omitempty"`
}

// StorageFault is the reason for which changes cannot be saved.
type StorageFault struct {
	Kind  string    `json:"kind"` // disk_full, read_only, database_busy, database_gone or database_damaged
	Text  string    `json:"text"`
	Since time.Time `json:"since,omitzero"`
}

// storageFault returns the fault among the notices, nil when there is none.
func storageFault(notices []Notice) *StorageFault {
	for _, n := range notices {
		if n.Grave() {
			return &StorageFault{Kind: n.Code, Text: n.Text, Since: n.Since}
		}
	}
	return nil
}

// Notice is a lasting remark about the installation that the user should see,
// such as a damaged database or a missing keychain.
type Notice struct {
	Code  string    `json:"code"`
	Text  string    `json:"text"`
	Since time.Time `json:"since,omitzero"` // when it began, where that is known
}

// Grave reports whether the remark is of something broken: changes are not kept.
func (n Notice) Grave() bool {
	switch n.Code {
	case "disk_full", "read_only", "database_busy", "database_gone", "database_damaged":
		return true
	}
	return false
}

// Connection is one connection with its live state. It never holds a secret.
type Connection struct {
	ID             string   `json:"id"`
	Provider       string   `json:"provider"`
	ProviderName   string   `json:"providerName"`
	Name           string   `json:"name"`
	AuthType       string   `json:"authType"`   // oauth, apikey or local: the figure class
	Credential     string   `json:"credential"` // apikey, token, passthrough, oauth or none
	HasSecret      bool     `json:"hasSecret"`
	Dialects       []string `json:"dialects"`
	BaseURL        string   `json:"baseUrl"`        // as used, without the dialect's path
	CustomBaseURL  bool     `json:"customBaseUrl"`  // the user set it
	DefaultModel   string   `json:"defaultModel"`   // sent in place of a model the provider does not offer
	Models         []string `json:"models"`         // patterns; empty means the catalogue's
	Offers         []string `json:"-"`              // Models, or the catalogue's; known in this process only
	Priority       int      `json:"priority"`       // 1 is tried first
	Active         bool     `json:"isActive"`       // the user's switch
	DisableCooling bool     `json:"disableCooling"` // guide §2

	// Claude is set for Claude subscription connections: the two switches
	// apply (guide "Límite de uso de Claude OAuth").
	Claude          bool `json:"claude"`
	LowPriorityMode bool `json:"lowPriorityMode"`
	AutoLimitReset  bool `json:"autoLimitReset"`
	// TimeoutMs and OrganizationUUID are as the user set them.
	TimeoutMs        int64  `json:"timeoutMs,omitempty"`
	OrganizationUUID string `json:"organizationUUID,omitempty"`
	ClientID         string `json:"clientId,omitempty"`
	TokenURL         string `json:"tokenUrl,omitempty"`
	TokenFormat      string `json:"tokenFormat,omitempty"`
	// LoginRefresh is set while refreshing the stored login fails.
	LoginRefresh *LoginRefresh `json:"loginRefresh,omitempty"`
	// ProxyURL is the outbound proxy, "direct", or empty for what the environment
	// says; its login is never shown.
	ProxyURL      string `json:"proxyUrl,omitempty"`
	HasProxyLogin bool   `json:"hasProxyLogin,omitempty"`
	// Lane, LimitReset and Usage are nil while there is nothing to tell.
	Lane       *ClaudeLane  `json:"lane,omitempty"`
	LimitReset *ClaudeReset `json:"limitReset,omitempty"`
	Usage      *ClaudeUsage `json:"usage,omitempty"`

	// RateLimitProtection is the user's wish to have the requests queued; only
	// POST /api/rate-limits changes it.
	RateLimitProtection bool `json:"rateLimitProtection"`
	Limits

	State            State      `json:"state"`
	Until            *time.Time `json:"until,omitempty"` // when State ends by itself
	TestStatus       string     `json:"testStatus"`
	RateLimitedUntil *time.Time `json:"rateLimitedUntil,omitempty"`
	BackoffLevel     int        `json:"backoffLevel"`
	Reason           string     `json:"reason,omitempty"`  // the guide's reason word
	Source           string     `json:"source,omitempty"`  // what set the deadline: header, body, ladder, rule
	RawHint          string     `json:"rawHint,omitempty"` // the upstream's own hint value
	// Words are the last refusal's own words, cleaned and at most 120 characters
	// (ruling 62); empty when it had none.
	Words string `json:"words,omitempty"`
	// NeedsAttention is set while the connection refuses again and again without
	// a reason that can be acted on: it is asked last, whatever State is.
	NeedsAttention *Attention `json:"needsAttention,omitempty"`
	ErrorCode      int        `json:"errorCode,omitempty"`
	LastErrorType  string     `json:"lastErrorType,omitempty"`
	LastErrorAt    *time.Time `json:"lastErrorAt,omitempty"`
	LastUsedAt     *time.Time `json:"lastUsedAt,omitempty"`
	LeasedUntil    *time.Time `json:"leasedUntil,omitempty"` // somebody holds it exclusively
	Lockouts       []Lockout  `json:"lockouts,omitempty"`    // models that are left out, the longest first
	// Slow lists the models that are asked last for a while (ruling 69).
	Slow     []SlowTarget `json:"slow,omitempty"`
	Waits    []Wait       `json:"waits,omitempty"` // what else holds requests back
	InFlight int          `json:"inFlight"`
	Queued   int          `json:"queued"` // requests that wait for a turn
	Served   int64        `json:"served"` // answers since start
	Failed   int64        `json:"failed"` // failed attempts since start
}

// Attention is since when a connection needs attention, and the words of its last
// refusal.
type Attention struct {
	Since time.Time `json:"since"`
	Words string    `json:"words,omitempty"`
}

// GuardedBy reports whether a breaker is that of the connection. Custom
// connections share one catalogue entry and have a breaker for each host,
// "custom:HOST".
func (c Connection) GuardedBy(breaker string) bool {
	if c.Provider+":" == customPrefix {
		return breaker == customPrefix+hostOf(c.BaseURL)
	}
	return breaker == c.Provider
}

// Lockout is one model that a connection is not asked for (guide §3).
type Lockout struct {
	Model        string    `json:"model"`
	Reason       string    `json:"reason"`
	Until        time.Time `json:"until"`
	FailureCount int       `json:"failureCount"`
}

// Breaker is the state of one provider's breaker (guide §1).
type Breaker struct {
	Provider             string     `json:"provider"`
	ProviderName         string     `json:"providerName"`
	State                string     `json:"state"` // CLOSED, DEGRADED, OPEN, HALF_OPEN
	FailureCount         int        `json:"failureCount"`
	FailureThreshold     int        `json:"failureThreshold"`
	DegradationThreshold int        `json:"degradationThreshold"`
	OpenCycleCount       int        `json:"openCycleCount"`
	LastFailureKind      string     `json:"lastFailureKind,omitempty"`
	LastFailure          *time.Time `json:"lastFailure,omitempty"`
	RetryAfterMs         int64      `json:"retryAfterMs"`
	Until                *time.Time `json:"until,omitempty"`
}

// Provider is one entry of the catalogue, for the add dialog.
type Provider struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	AuthType    string            `json:"authType"`
	Dialects    []string          `json:"dialects"`
	BaseURLs    map[string]string `json:"baseUrls"`    // dialect → default base URL
	Credentials []string          `json:"credentials"` // allowed kinds, default first
	Models      []string          `json:"models"`      // patterns; ["*"] is any
	// KnownModels are well known ones, with list prices: to choose from, not a
	// promise.
	KnownModels []KnownModel `json:"knownModels,omitempty"`
	KeyEnv      string       `json:"keyEnv,omitempty"`
	KeyURL      string       `json:"keyUrl,omitempty"`
	Custom      bool         `json:"custom"` // needs a base URL
	Claude      bool         `json:"claude"` // has the two Claude switches
}

// KnownModel is a model of the catalogue.
type KnownModel struct {
	Name      string   `json:"name"`
	Input     *float64 `json:"input,omitempty"`  // US dollars a million tokens
	Output    *float64 `json:"output,omitempty"` // US dollars a million tokens
	Context   int64    `json:"context"`          // window in tokens
	MaxOutput int64    `json:"maxOutput"`        // tokens
	Tools     bool     `json:"tools"`
	Vision    bool     `json:"vision"`
	Schema    bool     `json:"schema"` // structured output
	Reasoning bool     `json:"reasoning"`
}

// Activity is one client request with the story of its answer.
type Activity struct {
	ID             int64     `json:"id"`
	At             time.Time `json:"at"`
	Method         string    `json:"method"`
	Path           string    `json:"path"`
	Dialect        string    `json:"dialect"`
	Client         string    `json:"client"` // claude-code, codex, opencode, sdk, unknown …
	Model          string    `json:"model"`
	Stream         bool      `json:"stream"`
	Status         int       `json:"status"` // what the client got; 499 when it left
	Result         string    `json:"result"` // answered, failed, refused, client_left, truncated
	Provider       string    `json:"provider,omitempty"`
	ConnectionID   string    `json:"connectionId,omitempty"` // who answered
	ConnectionName string    `json:"connectionName,omitempty"`
	FailedOver     bool      `json:"failedOver"` // another connection failed first
	DurationMs     int64     `json:"durationMs"`
	FirstOutputMs  int64     `json:"firstOutputMs"` // -1 when no output came
	RequestBytes   int64     `json:"requestBytes"`
	ResponseBytes  int64     `json:"responseBytes"`
	EgressIP       string    `json:"egressIp,omitempty"`
	Combo          string    `json:"combo,omitempty"` // that the model name stood for
	Usage
	Trace []Step `json:"trace"`
}

// StepKind is what a step of a decision trace tells.
type StepKind string

// The steps of a decision trace, in the order in which they may appear.
const (
	StepSkipped  StepKind = "skipped"  // considered and passed over: Reason, Until
	StepWaited   StepKind = "waited"   // for a resting connection: Reason, DurationMs, Until
	StepFailed   StepKind = "failed"   // tried: Status, Reason, DurationMs, Until of the cooldown
	StepAnswered StepKind = "answered" // tried and answered: Status, DurationMs
	StepRefused  StepKind = "refused"  // our own answer, nobody was left: Status, Reason, Until
	StepCut      StepKind = "cut"      // the stream broke after output had been sent
	StepLeft     StepKind = "left"     // the client went away
	// StepOpinion asks another target because the refusal before it is not known
	// (ruling 55 d): Status.
	StepOpinion StepKind = "opinion"
	// StepLane is what Claude's lane or limit reset made of an answer that
	// nobody else judged: Status, Reason, DurationMs of the wait, Until.
	StepLane StepKind = "lane"
	// StepRepeated is a request that was sent again to the same target because
	// its connection was lost before the request was processed: Reason (ruling
	// 67).
	StepRepeated StepKind = "repeated"
	// StepRepaired is a request that was changed so that the connection can
	// answer it: Reason, Count (ruling 61).
	StepRepaired StepKind = "repaired"
)

// The reasons of what is done about reasoning that another account made.
const (
	ReasoningRemoved = "reasoning_removed" // taken out: Count
	ReasoningRefused = "foreign_reasoning" // the connection refused it
	HistoryExpanded  = "history_expanded"  // an answer that another account stores was written out
)

// Step is one line of a decision trace.
type Step struct {
	Kind           StepKind   `json:"kind"`
	OffsetMs       int64      `json:"offsetMs"` // since the request came in
	ConnectionID   string     `json:"connectionId,omitempty"`
	ConnectionName string     `json:"connectionName,omitempty"`
	Provider       string     `json:"provider,omitempty"`
	Model          string     `json:"model,omitempty"` // as sent to this upstream
	Reason         string     `json:"reason,omitempty"`
	Status         int        `json:"status,omitempty"`
	DurationMs     int64      `json:"durationMs,omitempty"`
	Count          int        `json:"count,omitempty"` // of StepRepaired
	Until          *time.Time `json:"until,omitempty"`
}

// SlowTarget is a model of a connection that kept requests waiting in silence: it
// is asked last until then.
type SlowTarget struct {
	Model string    `json:"model"`
	Until time.Time `json:"until"`
}

// TestResult is what a connection test found (settings sheet §2.11).
type TestResult struct {
	Valid      bool      `json:"valid"`
	Error      string    `json:"error,omitempty"`
	Warning    string    `json:"warning,omitempty"`
	Diagnosis  Diagnosis `json:"diagnosis"`
	LatencyMs  int64     `json:"latencyMs"`
	StatusCode int       `json:"statusCode"`
	Asked      string    `json:"asked,omitempty"`  // the address that was asked last
	Models     []string  `json:"models,omitempty"` // those of the provider's own list
	TestedAt   time.Time `json:"testedAt"`
}

// Diagnosis says in one closed word what a connection test found.
type Diagnosis struct {
	// Type is ok, unsupported, account_deactivated, upstream_auth_error,
	// upstream_rate_limited, upstream_unavailable, token_expired,
	// network_error, upstream_error, not_api, auth_missing or runtime_error.
	Type    string `json:"type"`
	Source  string `json:"source,omitempty"`
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
	// Words are the refusal's own, cleaned; Reason is what a request would be
	// judged as that got the same answer.
	Words  string `json:"words,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Fault is the demo's fault panel setting for one simulated connection.
type Fault struct {
	ConnectionID string `json:"connectionId"`
	// ConnectionName is shown; in a patch it is ignored.
	ConnectionName string `json:"connectionName,omitempty"`
	// Kind is none, rate_limit (429), overloaded (529), server_error (503),
	// auth (401), no_credit (402-like 400), reset, stall, empty, error_event,
	// cut or slow.
	Kind string `json:"kind"`
	// RetryAfterSeconds is sent with rate_limit; zero sends no header.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
	// Count is how many requests it hits; zero means until it is changed.
	Count int `json:"count,omitempty"`
}

// Demo is the state of the demo's fault panel.
type Demo struct {
	Faults []Fault  `json:"faults"` // one per simulated connection
	Kinds  []string `json:"kinds"`  // what can be chosen
	Speed  float64  `json:"speed"`  // the fast clock, 1 is real time
}

// DemoPatch changes the fault panel; absent fields stay as they are.
type DemoPatch struct {
	Faults    []Fault  `json:"faults,omitempty"`
	Speed     *float64 `json:"speed,omitempty"`
	AdvanceMs int64    `json:"advanceMs,omitempty"` // moves the demo's clock forward at once
}

// Package control is the facade over the running product: the one interface
// that the management API, the tray, the windows and the command line use.
package control

import (
	"context"
	"encoding/json"
	"time"
)

// Facade is everything a user or a script can see and do. It has two
// implementations: Service in the proxy's own process, and client.Client over
// HTTP and the event stream. All times that pass through it are real times.
type Facade interface {
	// Snapshot returns the present state of everything.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Subscribe returns a stream of events that begins with a snapshot and
	// ends, closed, with ctx. A subscriber that does not read misses events
	// but never delays anybody: the newest snapshot is always delivered.
	Subscribe(ctx context.Context) (<-chan Event, error)

	// Providers returns the catalogue.
	Providers(ctx context.Context) ([]Provider, error)

	// KnownModels returns the models that each connection is known to offer, in
	// routing order, to choose from: an unknown name may work as well.
	KnownModels(ctx context.Context) ([]ConnectionModels, error)

	// AddConnection stores a new connection, its secret included, and puts it
	// into routing at once. Errors are of type *InvalidError.
	AddConnection(ctx context.Context, in ConnectionInput) (Connection, error)
	// EditConnection changes the fields that the patch holds.
	EditConnection(ctx context.Context, id string, patch ConnectionPatch) (Connection, error)
	// DeleteConnection forgets a connection and its secret.
	DeleteConnection(ctx context.Context, id string) error
	// ReorderConnections gives the connections the priorities 1, 2, 3 … in
	// this order; ids left out keep their order behind the named ones.
	ReorderConnections(ctx context.Context, ids []string) error
	// TestConnection asks the provider whether the credential works; a good
	// answer lifts what it proves: terminal states and faults, and with a generated
	// token also guessed waits for a rate (ruling 66).
	TestConnection(ctx context.Context, id string) (TestResult, error)
	// ClearCooldown puts a cooling connection back into routing: whatever remembers
	// a wait of it forgets that. Terminal states stay (guide, "Gestor de tiempos de
	// espera"; ruling 66).
	ClearCooldown(ctx context.Context, id string) error
	// ClearLockouts makes locked models available again and returns how many
	// there were. Empty fields of the filter match everything (ruling 27).
	ClearLockouts(ctx context.Context, which LockoutFilter) (int, error)
	// ResetBreakers closes every breaker and lifts every model lockout and every
	// pause of a queue; it returns how many breakers there were (POST /api/resilience/reset, ruling
	// 31).
	ResetBreakers(ctx context.Context) (int, error)
	// ResetBreaker is ResetBreakers for one provider: by a breaker's name, or by a
	// catalogue id, which stands for all the addresses that custom connections
	// have. It returns how many breakers there were, 0 for an unknown name.
	ResetBreaker(ctx context.Context, provider string) (int, error)

	// LeaveLane ends the low-priority lane of a Claude connection; requests that
	// wait for a slot go on without it. ErrNotFound, or *InvalidError where the
	// connection is no Claude subscription.
	LeaveLane(ctx context.Context, id string) error
	// CheckLimitReset lets the next request at the wall ask for the limit reset
	// whatever was said before (ruling 19).
	CheckLimitReset(ctx context.Context, id string) error
	// ClaudeUsage returns the quota windows of a Claude connection as far as
	// they are known, and has old figures asked for.
	ClaudeUsage(ctx context.Context, id string) (ClaudeUsage, error)

	// SetPaused makes the proxy refuse new requests until it is resumed, or serve
	// them again.
	SetPaused(ctx context.Context, paused bool) error
	// PauseFor makes the proxy refuse new requests for a while, at least a second
	// and at most MaxPause; it then serves again by itself.
	PauseFor(ctx context.Context, d time.Duration) error

	// Activity returns the newest requests first.
	Activity(ctx context.Context, q ActivityQuery) ([]Activity, error)

	// Usage sums up the activity that is still kept.
	Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error)
	// SetRateLimitProtection puts a connection's requests under the request
	// queue, or takes the wish back.
	SetRateLimitProtection(ctx context.Context, id string, on bool) error

	// Combos returns the combos in the user's order.
	Combos(ctx context.Context) ([]Combo, error)
	// AddCombo stores a new combo, which clients may ask for at once. What the
	// sheet refuses is a *ComboError; a name that hides a model's is told in
	// the answer's Warning.
	AddCombo(ctx context.Context, in ComboInput) (Combo, error)
	// EditCombo changes the fields that the patch holds. A new name is put into
	// the combos that refer to this one.
	EditCombo(ctx context.Context, id string, patch ComboPatch) (Combo, error)
	// DeleteCombo forgets a combo.
	DeleteCombo(ctx context.Context, id string) error
	// ReorderCombos lists the combos in this order; ids left out keep their
	// order behind the named ones.
	ReorderCombos(ctx context.Context, ids []string) error
	// PreviewCombo tells what the next plain request for a combo, or for a draft
	// of one, would do now. Nothing is sent and nothing changes.
	PreviewCombo(ctx context.Context, in PreviewRequest) (ComboPreview, error)
	// Drill has faults happen to a twin of a combo and tells what the stack did.
	// Nothing reaches a provider and nothing of the real state changes.
	Drill(ctx context.Context, in DrillRequest) (DrillReport, error)

	// Keys returns the API keys, masked.
	Keys(ctx context.Context) ([]APIKey, error)
	// AddKey makes an API key; the answer is the only one that holds it whole.
	AddKey(ctx context.Context, in KeyInput) (APIKey, error)
	// EditKey changes the fields that the patch holds.
	EditKey(ctx context.Context, id string, patch KeyPatch) (APIKey, error)
	// DeleteKey forgets an API key; its bearer is refused from now on.
	DeleteKey(ctx context.Context, id string) error

	// Leases returns the exclusive leases in force, the first to end first.
	Leases(ctx context.Context) ([]HeldLease, error)
	// EndLease takes a lease from its owner, whose requests and renewals are
	// refused from now on; ErrNotFound for one that is over.
	EndLease(ctx context.Context, id string) error

	// Settings returns the stored settings.
	Settings(ctx context.Context) (Settings, error)
	// EditSettings changes the fields that the patch holds.
	EditSettings(ctx context.Context, patch SettingsPatch) (Settings, error)

	// AllSettings returns the settings of every kind with their revision.
	AllSettings(ctx context.Context) (AllSettings, error)
	// EditAllSettings changes the fields that the patch holds, all or none. It
	// returns a *ConflictError when the settings are not at the revision that
	// the patch expects.
	EditAllSettings(ctx context.Context, patch AllSettingsPatch) (AllSettings, error)

	// Resilience returns the resilience settings in force and where each value
	// comes from.
	Resilience(ctx context.Context) (Resilience, error)
	// EditResilience applies a strict partial patch to them, without a restart;
	// null removes a stored value (PATCH /api/resilience, ruling 52).
	EditResilience(ctx context.Context, patch json.RawMessage) (Resilience, error)
	// Guide returns the guide's further settings: model lockout, error rules,
	// session affinity.
	Guide(ctx context.Context) (Guide, error)
	// EditGuide changes the fields that the patch holds.
	EditGuide(ctx context.Context, patch GuidePatch) (Guide, error)

	// Export returns the configuration; with a passphrase the connections' keys
	// are in it, sealed, without one they are not.
	Export(ctx context.Context, passphrase string) (Backup, error)
	// Import puts a backup in force, or reports what that would do.
	Import(ctx context.Context, in ImportRequest) (ImportReport, error)

	// ShowWindow asks the desktop to open, or to raise, the window at a page.
	// It returns ErrNoDesktop where no desktop is attached.
	ShowWindow(ctx context.Context, page string) error
	// Quit ends the program.
	Quit(ctx context.Context) error

	// Demo returns the fault panel, or ErrNotFound outside the demo.
	Demo(ctx context.Context) (Demo, error)
	// EditDemo changes the fault panel and the demo's clock.
	EditDemo(ctx context.Context, patch DemoPatch) (Demo, error)
}

// EventType names what an event carries.
type EventType string

// The events of the stream.
const (
	EventSnapshot EventType = "snapshot" // Snapshot
	EventActivity EventType = "activity" // Activity, one finished request
	EventAlert    EventType = "alert"    // Alert
	EventShow     EventType = "show"     // Page, Show: the window should come to front
)

// Event is one message to a subscriber; the field that Type names is set.
type Event struct {
	Type     EventType `json:"type"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Activity *Activity `json:"activity,omitempty"`
	Alert    *Alert    `json:"alert,omitempty"`
	Change   *Change   `json:"change,omitempty"` // of the kinds in change.go
	Page     string    `json:"page,omitempty"`
	// Show counts the requests to show the window, so that one that came while
	// the window closed can be told from one that it answered.
	Show uint64 `json:"show,omitempty"`
}

// ConnectionInput describes a new connection.
type ConnectionInput struct {
	Provider        string   `json:"provider"` // catalogue id
	Name            string   `json:"name"`     // unique; empty takes the provider's name
	Credential      string   `json:"credential,omitempty"`
	APIKey          string   `json:"apiKey,omitempty"` // the secret, write only
	BaseURL         string   `json:"baseUrl,omitempty"`
	Dialects        []string `json:"dialects,omitempty"`
	DefaultModel    string   `json:"defaultModel,omitempty"`
	Models          []string `json:"models,omitempty"`
	Priority        int      `json:"priority,omitempty"` // 0 puts it last
	DisableCooling  bool     `json:"disableCooling,omitempty"`
	LowPriorityMode bool     `json:"lowPriorityMode,omitempty"`
	AutoLimitReset  bool     `json:"autoLimitReset,omitempty"`
	Inactive        bool     `json:"inactive,omitempty"` // add it switched off

	MaxConcurrent         int               `json:"maxConcurrent,omitempty"` // requests at once, 0: no cap
	RateLimitOverrides    map[string]any    `json:"rateLimitOverrides,omitempty"`
	QuotaWindowThresholds map[string]int64  `json:"quotaWindowThresholds,omitempty"`
	RotationOverrides     RotationOverrides `json:"rotationOverrides,omitzero"`
	Tags                  []string          `json:"tags,omitempty"`
	Group                 string            `json:"group,omitempty"`
	HealthCheckInterval   *int64            `json:"healthCheckInterval,omitempty"` // minutes, 0 is never; for stored logins
	Extras

	// TimeoutMs is how long a Claude connection may take until its answer
	// begins, 1 to 86 400 000; 0 is 600 000 (ruling 21).
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// OrganizationUUID is the account's organisation, for the limit reset; empty
	// lets it be found out.
	OrganizationUUID string `json:"organizationUUID,omitempty"`
	// RefreshToken belongs to the credential oauth, where apiKey holds the access
	// token, if there is one; write only. ClientID, TokenURL and TokenFormat (form
	// or json) say how the token endpoint is asked; empty ones are the provider's.
	RefreshToken string `json:"refreshToken,omitempty"`
	ClientID     string `json:"clientId,omitempty"`
	TokenURL     string `json:"tokenUrl,omitempty"`
	TokenFormat  string `json:"tokenFormat,omitempty"`
	// ProxyURL is the outbound proxy: empty as the environment says, "direct" for
	// none, or http://, https:// or socks5:// with an optional user:password@,
	// which is kept as a secret and never shown.
	ProxyURL string `json:"proxyUrl,omitempty"`
}

// ConnectionPatch changes a connection; nil fields stay as they are.
type ConnectionPatch struct {
	Name            *string   `json:"name,omitempty"`
	Credential      *string   `json:"credential,omitempty"`
	APIKey          *string   `json:"apiKey,omitempty"`
	BaseURL         *string   `json:"baseUrl,omitempty"` // empty goes back to the catalogue's
	Dialects        *[]string `json:"dialects,omitempty"`
	DefaultModel    *string   `json:"defaultModel,omitempty"`
	Models          *[]string `json:"models,omitempty"`
	Priority        *int      `json:"priority,omitempty"`
	Active          *bool     `json:"isActive,omitempty"`
	DisableCooling  *bool     `json:"disableCooling,omitempty"`
	LowPriorityMode *bool     `json:"lowPriorityMode,omitempty"`
	AutoLimitReset  *bool     `json:"autoLimitReset,omitempty"`

	MaxConcurrent OptionalJSON `json:"maxConcurrent,omitzero"` // null or 0: no cap
	// RateLimitOverrides replaces the figures whole, null clears them; giving
	// some puts the connection under the request queue.
	RateLimitOverrides OptionalJSON `json:"rateLimitOverrides,omitzero"`
	// QuotaWindowThresholds changes the windows it names; null clears one, or
	// all.
	QuotaWindowThresholds OptionalJSON       `json:"quotaWindowThresholds,omitzero"`
	RotationOverrides     *RotationOverrides `json:"rotationOverrides,omitempty"` // replaced whole
	Tags                  *[]string          `json:"tags,omitempty"`
	Group                 *string            `json:"group,omitempty"`
	HealthCheckInterval   OptionalJSON       `json:"healthCheckInterval,omitzero"` // minutes; null leaves it to the settings

	ExcludedModels  *[]string    `json:"excludedModels,omitempty"`
	UserAgent       *string      `json:"customUserAgent,omitempty"`
	ValidationModel *string      `json:"validationModelId,omitempty"`
	PerModelQuota   OptionalJSON `json:"passthroughModels,omitzero"` // null leaves it to the provider

	TimeoutMs        *int64  `json:"timeoutMs,omitempty"`
	OrganizationUUID *string `json:"organizationUUID,omitempty"`
	RefreshToken     *string `json:"refreshToken,omitempty"`
	ClientID         *string `json:"clientId,omitempty"`
	TokenURL         *string `json:"tokenUrl,omitempty"`
	TokenFormat      *string `json:"tokenFormat,omitempty"`
	// ProxyURL without a login keeps the stored one while it names the same
	// proxy; http://@host drops it.
	ProxyURL *string `json:"proxyUrl,omitempty"`
}

// LockoutFilter selects model lockouts.
type LockoutFilter struct {
	Provider     string `json:"provider,omitempty"`
	ConnectionID string `json:"connection,omitempty"`
	Model        string `json:"model,omitempty"`
}

// ActivityQuery selects rows of the activity log.
type ActivityQuery struct {
	Before       int64  // only rows with a smaller id; 0 starts at the newest
	Limit        int    // 1…500, 0 means 100
	ConnectionID string // only rows in which this connection was tried
	FailedOnly   bool   // only rows that failed over, failed or were refused
}

// Settings are the product's own settings; the resilience settings have a tree
// of their own.
type Settings struct {
	Notifications bool   `json:"notifications"` // desktop notifications
	Theme         string `json:"theme"`         // system, light or dark
	Language      string `json:"language"`      // one of Languages; empty follows the system
	RequireAPIKey bool   `json:"requireApiKey"` // ruling 33
	ClientProfile bool   `json:"clientProfiles"`
	// AllowedOrigins are the exact web origins that may call the API (ruling 51).
	AllowedOrigins []string `json:"allowedOrigins"`
	// ActivityLimit is how many rows of activity are kept.
	ActivityLimit int `json:"activityLimit"`
	// ClaudeBaseURL is where the limit reset and the windows of Claude
	// subscriptions are asked for; empty is https://api.anthropic.com.
	ClaudeBaseURL string `json:"claudeBaseUrl"`
	// EgressProbeURL is asked by which address this machine leaves, in the
	// background and at most every five minutes; empty asks nobody (guide §7).
	EgressProbeURL string `json:"egressProbeUrl"`
	// CAFile is a PEM file with root certificates beyond those of the system;
	// empty: there are none. Giving the path again has the file read again.
	CAFile string `json:"caFile"`
	// AutoDisableBanned switches a connection off once its account is banned, so
	// that it stays out of routing whatever a later test says
	// (case 24 of marking a connection unavailable).
	AutoDisableBanned bool `json:"autoDisableBannedAccounts"`
	// Notify says which alerts are shown, and when none is.
	Notify NotificationSettings `json:"notify"`
	// TextScale is the size of everything in the windows in percent, 80 to 200.
	TextScale int `json:"textScale"`
	// ReducedMotion keeps the windows from moving anything.
	ReducedMotion bool `json:"reducedMotion"`
	// Tables is how the windows' tables were left, by table: the columns' keys
	// in their order, each with its width in pixels or 0 for the usual one.
	Tables map[string][]TableColumn `json:"tables"`
}

// TableColumn is a column of a window's table as the user left it.
type TableColumn struct {
	Key   string  `json:"key"`
	Width float32 `json:"width,omitempty"` // pixels at 100 %; 0: the usual one
}

// DefaultSettings returns what holds before anything is stored.
func DefaultSettings() Settings {
	return Settings{
		Notifications: true, Theme: "system", ClientProfile: true, AllowedOrigins: []string{}, ActivityLimit: 10_000,
		Notify:    NotificationSettings{Breakers: true, Terminal: true, NothingLeft: true, Lane: true, LimitReset: true, Quota: true},
		TextScale: 100, Tables: map[string][]TableColumn{},
	}
}

// SettingsPatch changes settings; nil fields stay as they are.
type SettingsPatch struct {
	Notifications  *bool     `json:"notifications,omitempty"`
	Theme          *string   `json:"theme,omitempty"`
	Language       *string   `json:"language,omitempty"`
	RequireAPIKey  *bool     `json:"requireApiKey,omitempty"`
	ClientProfile  *bool     `json:"clientProfiles,omitempty"`
	AllowedOrigins *[]string `json:"allowedOrigins,omitempty"`
	ActivityLimit  *int      `json:"activityLimit,omitempty"`
	ClaudeBaseURL  *string   `json:"claudeBaseUrl,omitempty"`
	EgressProbeURL *string   `json:"egressProbeUrl,omitempty"`

	CAFile            *string `json:"caFile,omitempty"`
	AutoDisableBanned *bool   `json:"autoDisableBannedAccounts,omitempty"`

	Notify        *NotificationPatch `json:"notify,omitempty"`
	TextScale     *int               `json:"textScale,omitempty"`
	ReducedMotion *bool              `json:"reducedMotion,omitempty"`
	// Tables replaces what is kept of the tables it names; the others stay. One
	// without columns is forgotten, and a patch that names none forgets all.
	Tables *map[string][]TableColumn `json:"tables,omitempty"`
}

// RealTime returns a pointer to t, or nil for the zero time.
func RealTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.Round(0)
	return &t
}

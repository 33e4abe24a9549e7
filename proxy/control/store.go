package control

import (
	"context"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/affinity"
)

// ConnectionRecord is a connection as it is stored, without its secret.
type ConnectionRecord struct {
	ID             string
	Provider       string
	Name           string
	Credential     string
	BaseURL        string // empty: the catalogue's
	Dialects       []string
	DefaultModel   string
	Models         []string
	Priority       int
	Active         bool
	DisableCooling bool
	// LowPriorityMode and AutoLimitReset are Claude's two switches.
	LowPriorityMode bool
	AutoLimitReset  bool
	// TimeoutMs is Claude's start timeout, 0: the default; OrganizationUUID the
	// account's organisation, for the limit reset.
	TimeoutMs        int64
	OrganizationUUID string
	// ClientID, TokenURL and TokenFormat say how a stored login is refreshed.
	ClientID, TokenURL, TokenFormat string
	// ProxyURL is the outbound proxy without its login, DirectProxy, or empty for
	// what the environment says.
	ProxyURL string
	// RateLimitProtection is the user's wish to have the requests queued.
	RateLimitProtection bool
	// Limits are the connection's own bounds and where it belongs.
	Limits

	CreatedAt  time.Time
	UpdatedAt  time.Time
	LastUsedAt time.Time
	// State is the connection's resilience state at the last write.
	State resilience.ConnectionState
}

// Store keeps what must survive a restart. Connection and setting writes have
// reached the disk when the call returns; the methods of resilience.Store,
// affinity.Store and AppendActivity queue their write and return at once.
type Store interface {
	resilience.Store
	affinity.Store
	KeyStore
	ComboStore
	LeaseStore
	ModelStore

	Connections(ctx context.Context) ([]ConnectionRecord, error)
	Breakers(ctx context.Context) ([]resilience.BreakerState, error)
	// Pins returns the stored session pins, expired ones included.
	Pins(ctx context.Context) ([]affinity.Pin, error)
	// SaveConnection inserts or replaces everything but the State columns.
	SaveConnection(ctx context.Context, r ConnectionRecord) error
	DeleteConnection(ctx context.Context, id string) error
	// SavePriorities stores the priorities of several connections at once.
	SavePriorities(ctx context.Context, priorities map[string]int) error

	// Setting returns the JSON stored under a key of the namespace "settings".
	Setting(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveSetting(ctx context.Context, key string, value []byte) error
	// SaveSettings stores several keys, all or none.
	SaveSettings(ctx context.Context, values map[string][]byte) error

	// AppendActivity queues a row. Rows that cannot be written are counted,
	// never waited for.
	AppendActivity(Activity)
	Activity(ctx context.Context, q ActivityQuery) ([]Activity, error)
	// Usage sums up the kept rows by connection and model.
	Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error)
	// MaxActivityID returns the newest row's id, 0 in an empty log.
	MaxActivityID(ctx context.Context) (int64, error)
	// LastEgress returns by which address each connection left last, as far as
	// rows since then tell.
	LastEgress(ctx context.Context, since time.Time) ([]EgressSeen, error)
	// SetActivityLimit sets how many rows are kept.
	SetActivityLimit(n int)

	// Lost is how many rows of activity could not be kept since the start.
	Lost() int64
	// Notices tells what is wrong with the storage at present: damage, rows
	// that could not be written.
	Notices() []Notice
	// OnNotice has fn called when Notices may have changed; fn does not wait.
	OnNotice(fn func())
}

// Why a change could not be kept. Stores put them before their own words.
const (
	ErrDiskFull     = sentinel("the disk is full")
	ErrReadOnly     = sentinel("the data folder cannot be written")
	ErrDatabaseBusy = sentinel("another program has locked the database")
	ErrDatabaseGone = sentinel("the database was moved, deleted or replaced")
)

// Secrets keeps the credentials: in the keychain of the system, or in an
// encrypted file where there is none.
type Secrets interface {
	// Secret returns the value stored under name; ok is false when there is none.
	Secret(name string) (value string, ok bool, err error)
	SetSecret(name, value string) error
	// AddSecret stores a value unless one that is not empty is stored already,
	// by this or another process, and returns the one that is stored then.
	AddSecret(name, value string) (stored string, err error)
	DeleteSecret(name string) error
	// Backend says where the secrets are: "keychain" or "file".
	Backend() string
}

// SecretName returns the name under which a connection's credential is kept.
func SecretName(connectionID string) string { return "connection/" + connectionID }

// TokenSecret is the name under which the management token is kept.
const TokenSecret = "management-token"

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Scopes of an API key: what its bearer may do.
const (
	ScopeClient = "client"          // send requests for models
	ScopeManage = "manage"          // use the management API, like its token
	ScopeLease  = "lease:exclusive" // hold sessions on connections of its own
)

// APIKey is a key for a client or a script, as it is shown (settings sheet
// §2.13).
type APIKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Key is masked; it is whole only in the answer to AddKey, once.
	Key    string   `json:"key"`
	Scopes []string `json:"scopes"`
	// AllowedConnections are the ids that requests of this key may use, and
	// AllowedModels patterns of the models they may ask for; empty allows all.
	AllowedConnections []string   `json:"allowedConnections"`
	AllowedModels      []string   `json:"allowedModels"`
	ExpiresAt          *time.Time `json:"expiresAt"` // nil lasts for ever
	Active             bool       `json:"isActive"`  // the user's switch
	State              KeyState   `json:"state"`     // what becomes of the key's requests
	CreatedAt          time.Time  `json:"createdAt"`
}

// KeyState says whether an API key is in force.
type KeyState string

// The states of an API key.
const (
	KeyOn      KeyState = "on"
	KeyOff     KeyState = "off"     // switched off by the user
	KeyExpired KeyState = "expired" // its time is over
)

// KeyInput describes a new API key.
type KeyInput struct {
	Name               string     `json:"name"`
	Scopes             []string   `json:"scopes,omitempty"` // absent means client, an empty list is refused
	AllowedConnections []string   `json:"allowedConnections,omitempty"`
	AllowedModels      []string   `json:"allowedModels,omitempty"`
	ExpiresAt          *time.Time `json:"expiresAt,omitempty"`
}

// KeyPatch changes an API key; absent fields stay as they are.
type KeyPatch struct {
	Name               *string      `json:"name,omitempty"`
	Scopes             *[]string    `json:"scopes,omitempty"`
	AllowedConnections *[]string    `json:"allowedConnections,omitempty"`
	AllowedModels      *[]string    `json:"allowedModels,omitempty"`
	ExpiresAt          OptionalTime `json:"expiresAt,omitzero"` // null lasts for ever
	Active             *bool        `json:"isActive,omitempty"`
}

// OptionalTime is a time in a patch: absent, a time, or null, which takes a
// stored one away.
type OptionalTime struct {
	Given bool
	Time  *time.Time
}

// MarshalJSON writes the time, or null.
func (o OptionalTime) MarshalJSON() ([]byte, error) { return json.Marshal(o.Time) }

// UnmarshalJSON takes a time or null.
func (o *OptionalTime) UnmarshalJSON(data []byte) error {
	*o = OptionalTime{Given: true}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	o.Time = new(time.Time)
	return o.Time.UnmarshalJSON(data)
}

// KeyRecord is an API key as it is stored: a digest, never the key.
type KeyRecord struct {
	ID                 string
	Name               string
	Hash               [32]byte // SHA-256 of the key
	Tail               string   // the last characters, to tell keys apart
	Scopes             []string
	AllowedConnections []string
	AllowedModels      []string
	ExpiresAt          time.Time // zero lasts for ever
	Active             bool
	CreatedAt          time.Time
}

// KeyStore keeps the API keys. Writes have reached the disk when the call
// returns.
type KeyStore interface {
	APIKeys(ctx context.Context) ([]KeyRecord, error)
	// SaveAPIKey inserts or replaces a key.
	SaveAPIKey(ctx context.Context, k KeyRecord) error
	DeleteAPIKey(ctx context.Context, id string) error
}

// Errors of API keys, for errors.Is.
const (
	// ErrLeaseKeyPolicy refuses a key that may hold leases on everything.
	ErrLeaseKeyPolicy = sentinel("a key with the scope lease:exclusive needs allowedConnections")
	// ErrKeyName refuses a name that another key has, in whatever case: the two
	// could not be told apart when one is to be revoked.
	ErrKeyName     = sentinel("there is an API key of this name already")
	ErrKeyUnknown  = sentinel("the key is not known")
	ErrKeyDisabled = sentinel("the key is switched off")
	ErrKeyExpired  = sentinel("the key has expired")
	ErrKeyScope    = sentinel("the key lacks the scope for this")
)

// Grant is what the bearer of an accepted API key may use.
type Grant struct {
	KeyID       string   // empty where no key was needed
	Connections []string // ids; empty allows all
	Models      []string // patterns; empty allows all
	Leases      bool     // requests need an exclusive lease
}

// AllowsModel reports whether the bearer may ask for a model, whose name may
// carry the prefix of a connection or a provider.
func (g Grant) AllowsModel(model string) bool {
	if len(g.Models) == 0 || matches(g.Models, model) {
		return true
	}
	model = baseModel(model)
	if matches(g.Models, model) {
		return true
	}
	_, rest, found := strings.Cut(model, "/")
	return found && matches(g.Models, rest)
}

// AllowsConnection reports whether requests of the bearer may use a connection.
func (g Grant) AllowsConnection(id string) bool {
	return len(g.Connections) == 0 || slices.Contains(g.Connections, id)
}

// Bounds of a key's fields (settings sheet §2.13).
const (
	maxKeys           = 500
	maxKeyConnections = 100
	maxKeyModels      = 1000
)

// checkKeyRecord validates a whole key; changed tells which lists are new and
// must therefore name what exists.
func checkKeyRecord(k KeyRecord, known func(id string) bool, connectionsGiven, expiryGiven bool, now time.Time) error {
	var bad problems
	if k.Name == "" || len(k.Name) > maxName {
		bad.add("name", "1 to %d characters", maxName)
	}
	if len(k.Scopes) == 0 {
		bad.add("scopes", "at least one of %s, %s, %s", ScopeClient, ScopeManage, ScopeLease)
	}
	for _, sc := range k.Scopes {
		if !slices.Contains([]string{ScopeClient, ScopeManage, ScopeLease}, sc) {
			bad.add("scopes", "%s, %s or %s", ScopeClient, ScopeManage, ScopeLease)
			break
		}
	}
	if len(k.AllowedConnections) > maxKeyConnections {
		bad.add("allowedConnections", "at most %d connections", maxKeyConnections)
	}
	if connectionsGiven {
		for _, id := range k.AllowedConnections {
			if !known(id) {
				bad.add("allowedConnections", "there is no connection %q", id)
			}
		}
	}
	if len(k.AllowedModels) > maxKeyModels {
		bad.add("allowedModels", "at most %d patterns", maxKeyModels)
	}
	if slices.ContainsFunc(k.AllowedModels, func(m string) bool { return m == "" || len(m) > maxModel }) {
		bad.add("allowedModels", "each pattern has 1 to %d characters", maxModel)
	}
	if expiryGiven && !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		bad.add("expiresAt", "must be in the future; isActive switches a key off")
	}
	if err := bad.err(); err != nil {
		return err
	}
	if slices.Contains(k.Scopes, ScopeLease) && len(k.AllowedConnections) == 0 {
		return ErrLeaseKeyPolicy
	}
	return nil
}

// State is what the key is at a moment of real time.
func (k KeyRecord) State(now time.Time) KeyState {
	switch {
	case !k.Active:
		return KeyOff
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return KeyExpired
	}
	return KeyOn
}

// view shows the key as it is at a moment, masked.
func (k KeyRecord) view(now time.Time) APIKey {
	return APIKey{
		ID: k.ID, Name: k.Name, Key: "sk-…" + k.Tail, Scopes: filled(k.Scopes),
		AllowedConnections: filled(k.AllowedConnections), AllowedModels: filled(k.AllowedModels),
		ExpiresAt: RealTime(k.ExpiresAt), Active: k.Active, State: k.State(now), CreatedAt: k.CreatedAt,
	}
}

// filled returns a list that JSON shows as a list, not as null.
func filled(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

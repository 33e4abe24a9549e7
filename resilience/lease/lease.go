// Package lease decides who owns a connection exclusively, since when and
// until when (guide §2, the last part on connections).
package lease

import "time"

// Bounds of a lease's life. A lease that is not renewed in time ends.
const (
	DefaultTTL = 2 * time.Minute
	MinTTL     = time.Second
	MaxTTL     = 30 * time.Minute
)

// ClampTTL brings a life into its bounds; zero means DefaultTTL.
func ClampTTL(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultTTL
	}
	return min(max(d, MinTTL), MaxTTL)
}

// State is where a lease is in its life. All but Active are final.
type State string

// The states, as they are stored.
const (
	Active      State = "ACTIVE"
	Released    State = "RELEASED"
	Expired     State = "EXPIRED"
	Invalidated State = "INVALIDATED"
)

// Reason says why a lease ended.
type Reason string

// The reasons, as they are stored.
const (
	AuthorizationChanged Reason = "AUTHORIZATION_CHANGED"
	ClientCancelled      Reason = "CLIENT_CANCELLED"
	ConnectionIneligible Reason = "CONNECTION_INELIGIBLE"
	HealthOrCooldown     Reason = "HEALTH_OR_COOLDOWN"
	ManagedKeyRevoked    Reason = "MANAGED_KEY_REVOKED"
	ModelIneligible      Reason = "MODEL_INELIGIBLE"
	OwnerExit            Reason = "OWNER_EXIT"
	QuotaUnavailable     Reason = "QUOTA_UNAVAILABLE"
	TTLExpired           Reason = "TTL_EXPIRED"
)

// Lease is one owner's hold on one connection. The owner is known by a digest
// only. Times are wall times in UTC (ruling 37).
type Lease struct {
	ID           string
	OwnerHash    string // Hash of the owner
	KeyID        string // the API key under which it was taken
	Provider     string
	ConnectionID string
	Generation   int64
	State        State
	AcquiredAt   time.Time
	RenewedAt    time.Time
	ExpiresAt    time.Time
	EndedAt      time.Time // zero while active
	EndReason    Reason    // empty while active
}

// Live reports whether the lease is in force at a moment.
func (l Lease) Live(now time.Time) bool { return l.State == Active && now.Before(l.ExpiresAt) }

// At returns the lease as it stands at a moment: ended when its time has run
// out, and with an end no further away than the longest life, so that a clock
// that was set back cannot keep a connection locked away.
func (l Lease) At(now time.Time) Lease {
	if l.State != Active {
		return l
	}
	if !now.Before(l.ExpiresAt) {
		return l.ended(Expired, TTLExpired, now)
	}
	if latest := now.Add(MaxTTL); l.ExpiresAt.After(latest) {
		l.ExpiresAt = latest
	}
	return l
}

func (l Lease) ended(s State, why Reason, now time.Time) Lease {
	l.State, l.EndReason, l.EndedAt = s, why, now
	return l
}

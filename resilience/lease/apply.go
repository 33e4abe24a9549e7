package lease

import "time"

// Action is what an operation wants.
type Action string

// The operations (settings sheet §4.3).
const (
	Acquire    Action = "acquire"
	Transition Action = "transition"
	Renew      Action = "renew"
	Release    Action = "release"
	Invalidate Action = "invalidate"
	Check      Action = "check" // the fence: changes nothing
)

// Op is one operation of one owner.
type Op struct {
	Action     Action
	OwnerHash  string
	KeyID      string
	Generation int64 // ignored by Acquire
	// ConnectionID is the one that is wanted, or that is about to be used. An
	// empty one makes Check look at owner, generation and key only.
	ConnectionID string
	Provider     string
	Reason       Reason        // of the end that the operation brings about
	TTL          time.Duration // of Acquire and Renew; 0 means DefaultTTL
	ID           string        // of the lease that the operation may make
}

// View is what the table holds that matters for an operation.
type View struct {
	Own    *Lease // the owner's active lease
	Holder *Lease // the active lease of the wanted connection
	// Past is the newest lease of the owner and the generation that has ended.
	Past    *Lease
	Highest int64 // the owner's highest generation in any state, 0 for none
}

// Result is how an operation ended.
type Result string

// The results. Those up to Valid are successes.
const (
	Acquired     Result = "ACQUIRED"
	Reused       Result = "REUSED"
	Transitioned Result = "TRANSITIONED"
	Renewed      Result = "RENEWED"
	Ended        Result = "ENDED" // released or invalidated, now or before
	Valid        Result = "VALID"

	OwnerAlreadyActive    Result = "OWNER_ALREADY_ACTIVE"
	ConnectionBusy        Result = "CONNECTION_BUSY"
	Stale                 Result = "STALE"
	Required              Result = "REQUIRED" // there is no lease at all
	AuthorizationMismatch Result = "AUTHORIZATION_MISMATCH"
	ConnectionMismatch    Result = "CONNECTION_MISMATCH"
)

// OK reports whether the operation succeeded.
func (r Result) OK() bool {
	switch r {
	case Acquired, Reused, Transitioned, Renewed, Ended, Valid:
		return true
	}
	return false
}

// Outcome is what an operation comes to.
type Outcome struct {
	Result Result
	// Lease is the owner's after the operation, or the one that stands in the
	// way: with ConnectionBusy the holder's.
	Lease Lease
	// Write are the rows to store, ended ones first, so that there is never a
	// second active one beside them.
	Write []Lease
}

// Apply decides an operation. The view is brought up to the moment first:
// leases whose time has run out end by being looked at. What it returns must
// be stored together or not at all.
func Apply(v View, op Op, now time.Time) Outcome {
	var lapsed []Lease
	v.Own = lapse(v.Own, now, &lapsed)
	v.Holder = lapse(v.Holder, now, &lapsed)
	if v.Holder != nil && v.Holder.OwnerHash == op.OwnerHash {
		v.Holder = nil // the connection is held by the owner itself
	}
	out := decide(v, op, now)
	out.Write = append(lapsed, out.Write...)
	return out
}

// lapse returns the lease unless its time has run out.
func lapse(l *Lease, now time.Time, lapsed *[]Lease) *Lease {
	if l == nil {
		return nil
	}
	at := l.At(now)
	if at.State == Active {
		return &at
	}
	for _, x := range *lapsed {
		if x.ID == at.ID {
			return nil
		}
	}
	*lapsed = append(*lapsed, at)
	return nil
}

func decide(v View, op Op, now time.Time) Outcome {
	switch op.Action {
	case Acquire:
		return acquire(v, op, now)
	case Check:
		return check(v, op)
	case Transition, Renew, Release, Invalidate:
	}
	if !current(v.Own, op) {
		if past := v.Past; op.Action == Release && v.Own == nil && past != nil && past.State == Released && past.KeyID == op.KeyID {
			return Outcome{Result: Ended, Lease: *past}
		}
		return Outcome{Result: Stale}
	}
	own := *v.Own
	switch op.Action {
	case Transition:
		return transition(own, v.Holder, op, now)
	case Renew:
		own.RenewedAt, own.ExpiresAt = now, now.Add(ClampTTL(op.TTL))
		return Outcome{Renewed, own, []Lease{own}}
	case Release:
		return end(own, Released, reasonOr(op.Reason, OwnerExit), now)
	default:
		return end(own, Invalidated, reasonOr(op.Reason, ConnectionIneligible), now)
	}
}

// current reports whether the operation speaks of the owner's lease in force.
func current(own *Lease, op Op) bool {
	return own != nil && own.Generation == op.Generation && own.KeyID == op.KeyID
}

func acquire(v View, op Op, now time.Time) Outcome {
	switch own := v.Own; {
	case own != nil && own.KeyID == op.KeyID && own.ConnectionID == op.ConnectionID:
		again := *own
		again.RenewedAt, again.ExpiresAt = now, now.Add(ClampTTL(op.TTL))
		return Outcome{Reused, again, []Lease{again}}
	case own != nil:
		return Outcome{Result: OwnerAlreadyActive, Lease: *own}
	case v.Holder != nil:
		return Outcome{Result: ConnectionBusy, Lease: *v.Holder}
	}
	fresh := Lease{
		ID: op.ID, OwnerHash: op.OwnerHash, KeyID: op.KeyID, Provider: op.Provider, ConnectionID: op.ConnectionID,
		Generation: v.Highest + 1, State: Active, AcquiredAt: now, RenewedAt: now, ExpiresAt: now.Add(ClampTTL(op.TTL)),
	}
	return Outcome{Acquired, fresh, []Lease{fresh}}
}

// transition moves the owner to another connection under the same generation.
// The end stays where it is: only its owner prolongs a lease.
func transition(own Lease, holder *Lease, op Op, now time.Time) Outcome {
	if own.ConnectionID == op.ConnectionID {
		return Outcome{Result: Reused, Lease: own}
	}
	if holder != nil {
		return Outcome{Result: ConnectionBusy, Lease: *holder}
	}
	next := own
	next.ID, next.ConnectionID, next.Provider, next.AcquiredAt = op.ID, op.ConnectionID, op.Provider, now
	old := own.ended(Invalidated, reasonOr(op.Reason, HealthOrCooldown), now)
	return Outcome{Transitioned, next, []Lease{old, next}}
}

func end(own Lease, s State, why Reason, now time.Time) Outcome {
	own = own.ended(s, why, now)
	return Outcome{Ended, own, []Lease{own}}
}

func reasonOr(r, usual Reason) Reason {
	if r == "" {
		return usual
	}
	return r
}

// check is the fence: it is asked right before every dispatch, after all
// waits.
func check(v View, op Op) Outcome {
	switch own := v.Own; {
	case own == nil:
		return Outcome{Result: Required}
	case own.Generation != op.Generation:
		return Outcome{Result: Stale, Lease: *own}
	case own.KeyID != op.KeyID:
		return Outcome{Result: AuthorizationMismatch, Lease: *own}
	case op.ConnectionID != "" && own.ConnectionID != op.ConnectionID:
		return Outcome{Result: ConnectionMismatch, Lease: *own}
	default:
		return Outcome{Result: Valid, Lease: *own}
	}
}

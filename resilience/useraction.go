package resilience

import (
	"breakwater/resilience/exclusion"
)

// Mending is what only the user can do about a connection (ruling 71).
type Mending string

// The closed set of what no wait can mend.
const (
	MendKey     Mending = "key_refused"    // the provider refused the key
	MendCredit  Mending = "no_credit"      // the account has no credit left
	MendAccount Mending = "account_banned" // the provider closed the account
	MendMissing Mending = "key_missing"    // the key is not on this machine
	MendAddress Mending = "wrong_address"  // the base URL is not the provider's API
)

// MendingOf returns what only the user can do about an exclusion; ok is false
// when time or the upstream ends it: a limit, a fault, a server that does not
// run, a name that does not resolve.
func MendingOf(e exclusion.Exclusion) (m Mending, ok bool) {
	switch e.Reason {
	case exclusion.Expired:
		return MendKey, true
	case exclusion.CreditsExhausted:
		return MendCredit, true
	case exclusion.Banned:
		return MendAccount, true
	case exclusion.KeyMissing:
		return MendMissing, true
	case exclusion.WrongAddress:
		return MendAddress, true
	}
	// A plain 403 rests by the ladder: nobody refused a key (ruling 62).
	return "", false
}

// OnlyUserMends reports whether a person alone can mend what excludes all of a
// request's connections. A connection that is switched off excludes itself: it
// decides nothing.
func OnlyUserMends(excluded []Exclusion) bool {
	any := false
	for _, e := range excluded {
		if e.Reason == exclusion.Off {
			continue
		}
		if _, ok := MendingOf(e.Exclusion); !ok {
			return false
		}
		any = true
	}
	return any
}

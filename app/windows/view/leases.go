package view

import (
	"strings"
	"time"

	"breakwater/proxy/control"
)

// LeaseRow is one exclusive lease.
type LeaseRow struct {
	ID                   string
	Connection, Provider string
	Holder, HolderMore   string // the key it was taken with, and the owner
	Since, SinceTip      string
	Until, UntilTip      string
}

// LeaseRows returns the leases in force at a moment, in the order given.
func LeaseRows(list []control.HeldLease, now time.Time) []LeaseRow {
	out := make([]LeaseRow, 0, len(list))
	for _, l := range list {
		if !l.Until.After(now) {
			continue
		}
		r := LeaseRow{
			ID: l.ID, Connection: l.ConnectionName, Provider: l.Provider, Holder: l.KeyName,
			Since: Ago(l.Since, now), SinceTip: Tf("renewed %s", Ago(l.RenewedAt, now)) + " · " + Exact(l.Since),
			Until: Until(l.Until, now), UntilTip: Exact(l.Until),
		}
		if r.Connection == "" {
			r.Connection = l.ConnectionID
		}
		if r.Holder == "" {
			r.Holder = T("a key that is gone")
		}
		if l.Owner != "" {
			r.HolderMore = Tf("owner %s", l.Owner)
		}
		out = append(out, r)
	}
	return out
}

// LeasesLine is the header line of the leases.
func LeasesLine(list []control.HeldLease) string {
	switch n := len(list); n {
	case 0:
		return T("No connection is held exclusively.")
	case 1:
		return T("One connection is held exclusively.")
	default:
		return Tf("%d connections are held exclusively.", n)
	}
}

// Held tells two states of the leases apart, from the snapshot alone.
func Held(s control.Snapshot) string {
	var out strings.Builder
	for _, c := range s.Connections {
		if c.LeasedUntil != nil {
			out.WriteString(c.ID + " " + c.LeasedUntil.String() + "\n")
		}
	}
	return out.String()
}

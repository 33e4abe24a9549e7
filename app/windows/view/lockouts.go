package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// LockRow is one locked model of one connection (guide "Panel de control de
// tiempos de espera de modelos").
type LockRow struct {
	ConnectionID, Model  string
	Connection, Provider string
	Reason               string
	Failures             string
	Remaining            string
	RemainingTip         string
}

// LockRows returns the locked models, the longest remaining first; an empty
// provider is all.
func LockRows(s control.Snapshot, provider string, now time.Time) []LockRow {
	type lock struct {
		c control.Connection
		l control.Lockout
	}
	var list []lock
	for _, c := range s.Connections {
		if provider != "" && c.Provider != provider {
			continue
		}
		for _, l := range Locked(c, now) {
			list = append(list, lock{c, l})
		}
	}
	slices.SortStableFunc(list, func(a, b lock) int { return b.l.Until.Compare(a.l.Until) })
	rows := make([]LockRow, len(list))
	for i, x := range list {
		rows[i] = LockRow{
			ConnectionID: x.c.ID, Model: x.l.Model, Connection: x.c.Name, Provider: x.c.ProviderName,
			Reason: Reason(x.l.Reason), Remaining: Left(x.l.Until, now), RemainingTip: Tf("until %s", Exact(x.l.Until)),
		}
		if x.l.FailureCount > 0 {
			rows[i].Failures = strconv.Itoa(x.l.FailureCount)
		}
	}
	return rows
}

// BreakerRow is one provider's breaker.
type BreakerRow struct {
	ID          string // the provider's
	Provider    string
	Badge       Badge
	Count       string  // failures of the threshold
	CountTip    string  // the same in words
	Share       float32 // of the threshold, 0…1
	Mark        float32 // where it counts as degraded, 0…1; 0 for none
	Role        Role    // of the share
	Opened      string  // openings in a row without a recovery
	LastFailure string
	FailureTip  string
}

// BreakerRows returns the breakers, those that need attention first.
func BreakerRows(s control.Snapshot, now time.Time) []BreakerRow {
	order := []string{"OPEN", "HALF_OPEN", "DEGRADED", "CLOSED"}
	list := slices.Clone(s.Breakers)
	slices.SortStableFunc(list, func(a, b control.Breaker) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
	rows := make([]BreakerRow, len(list))
	for i, b := range list {
		rows[i] = breakerRow(b, now)
	}
	return rows
}

func breakerRow(b control.Breaker, now time.Time) BreakerRow {
	r := BreakerRow{
		ID: b.Provider, Provider: b.ProviderName, Badge: BreakerBadge(b, now), Count: strconv.Itoa(b.FailureCount) + "/" + strconv.Itoa(b.FailureThreshold),
		CountTip:    Tf("%d of %d counted failures until it opens", b.FailureCount, b.FailureThreshold),
		LastFailure: T("none"),
	}
	r.Role = r.Badge.Role
	if b.FailureThreshold > 0 {
		r.Share = min(1, float32(b.FailureCount)/float32(b.FailureThreshold))
		if b.DegradationThreshold > 0 && b.DegradationThreshold < b.FailureThreshold {
			r.Mark = float32(b.DegradationThreshold) / float32(b.FailureThreshold)
			r.CountTip = Tf("%d of %d counted failures until it opens; from %d on it is watched closely", b.FailureCount, b.FailureThreshold, b.DegradationThreshold)
		}
	}
	switch {
	case b.OpenCycleCount == 1:
		r.Opened = T("once")
	case b.OpenCycleCount > 1:
		r.Opened = Tf("%d times", b.OpenCycleCount)
	}
	if b.LastFailure != nil {
		r.LastFailure, r.FailureTip = Ago(*b.LastFailure, now), Exact(*b.LastFailure)
		if kind := failureKind(b.LastFailureKind); kind != "" {
			r.LastFailure = kind + ", " + r.LastFailure
		}
	}
	return r
}

func failureKind(kind string) string {
	switch kind {
	case "rate_limit":
		return T("rate limited")
	case "quota_exhausted":
		return T("quota used up")
	case "transient":
		return T("server error")
	}
	return Reason(kind)
}

// Option is one of a list to choose from: what is sent, how it reads in the
// list, and its plain name.
type Option struct{ ID, Word, Name string }

// ProviderOptions returns the providers that have connections, by name.
func ProviderOptions(s control.Snapshot) []Option {
	var out []Option
	for _, c := range s.Connections {
		if !slices.ContainsFunc(out, func(o Option) bool { return o.ID == c.Provider }) {
			out = append(out, Option{c.Provider, c.ProviderName, c.ProviderName})
		}
	}
	slices.SortFunc(out, func(a, b Option) int { return strings.Compare(strings.ToLower(a.Word), strings.ToLower(b.Word)) })
	return out
}

// BreakersReset returns the result of a reset in one line.
func BreakersReset(n int) string {
	if n == 1 {
		return T("1 breaker is closed.")
	}
	return Tf("%d breakers are closed.", n)
}

package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// overviewRows is how many connections and breakers the overview lists; the
// rest has pages of its own.
const overviewRows = 10

// Brief returns the snapshot with what the overview lists: all connections and
// breakers while they are few, else those that are busy or in trouble first.
// more counts what was left out.
func Brief(s control.Snapshot) (brief control.Snapshot, moreConnections, moreBreakers int) {
	if n := len(s.Connections); n > overviewRows {
		list := SortConnections(s.Connections, ByOrder, false)
		slices.SortStableFunc(list, func(a, b *control.Connection) int { return cmp.Compare(weight(a), weight(b)) })
		s.Connections, moreConnections = nil, n-overviewRows
		for _, c := range list[:overviewRows] {
			s.Connections = append(s.Connections, *c)
		}
	}
	if n := len(s.Breakers); n > overviewRows {
		list := slices.Clone(s.Breakers)
		slices.SortStableFunc(list, func(a, b control.Breaker) int { return cmp.Compare(calm(a), calm(b)) })
		s.Breakers, moreBreakers = list[:overviewRows], n-overviewRows
	}
	return s, moreConnections, moreBreakers
}

// weight orders connections for the overview: what is busy, what is in trouble,
// what serves, what is off.
func weight(c *control.Connection) int {
	switch {
	case c.InFlight > 0:
		return 0
	case c.State == control.StateServing:
		return 2
	case c.State == control.StateOff:
		return 3
	}
	return 1
}

func calm(b control.Breaker) int {
	return slices.Index([]string{"OPEN", "HALF_OPEN", "DEGRADED", "CLOSED"}, b.State)
}

// Serving says what is being served at this moment, and by whom.
func Serving(s control.Snapshot) string {
	var parts []string
	waiting := 0
	for i := range s.Connections {
		c := &s.Connections[i]
		if c.InFlight > 0 {
			parts = append(parts, Tf("%d at %s", c.InFlight, c.Name))
		}
		waiting += c.Queued
		if c.Lane != nil {
			waiting += c.Lane.Waiting
		}
	}
	var out string
	switch n := len(parts); {
	case n == 0:
		out = T("Nothing is under way right now.")
	case n > 4:
		out = Tf("Under way: %s and at %d more.", strings.Join(parts[:4], ", "), n-4)
	default:
		out = Tf("Under way: %s.", strings.Join(parts, ", "))
	}
	if waiting > 0 {
		out += " " + Tf("Waiting for a turn: %d.", waiting)
	}
	return out
}

// Failure is what went wrong in the same way in the last hour.
type Failure struct {
	Who, Why    string
	Count, Last string
	Tip         string
	ID          int64 // the newest request that met it
}

// failureRows is how many kinds of failures are listed.
const failureRows = 5

// Failures sums up the failed attempts and the refused requests of the last
// hour among those that are known, the most frequent first.
func Failures(list []control.Activity, now time.Time) []Failure {
	type kind struct {
		who, reason string
		status      int
		refused     bool
	}
	type sum struct {
		n    int
		last time.Time
		id   int64
	}
	sums := map[kind]sum{}
	for i := range list {
		a := &list[i]
		if now.Sub(a.At) > time.Hour {
			break // the newest come first
		}
		for j := range a.Trace {
			s := &a.Trace[j]
			if s.Kind != control.StepFailed && s.Kind != control.StepCut && s.Kind != control.StepRefused {
				continue
			}
			k := kind{s.ConnectionName, s.Reason, s.Status, s.Kind == control.StepRefused}
			x := sums[k]
			x.n++
			if at := a.At.Add(time.Duration(s.OffsetMs) * time.Millisecond); at.After(x.last) {
				x.last, x.id = at, a.ID
			}
			sums[k] = x
		}
	}
	var out []Failure
	for k, x := range sums {
		if k.refused {
			k.who = T("Breakwater")
		}
		out = append(out, Failure{Who: k.who, Why: failureWhy(k.reason, k.status), Count: strconv.Itoa(x.n), Last: Ago(x.last, now), Tip: Exact(x.last), ID: x.id})
	}
	slices.SortFunc(out, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(len(b.Count), len(a.Count)), strings.Compare(b.Count, a.Count), strings.Compare(a.Who+a.Why, b.Who+b.Why))
	})
	return out[:min(len(out), failureRows)]
}

func failureWhy(reason string, status int) string {
	why := Reason(reason)
	switch {
	case status == 0:
		return why
	case why == "":
		return Tf("status %d", status)
	}
	return Tf("%d, %s", status, why)
}

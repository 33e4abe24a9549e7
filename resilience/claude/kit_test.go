package claude

import (
	"maps"
	"strconv"
	"testing"
	"time"
)

// t0 is the NOW of the sheet's fixture (§7), wallReset its RESET.
var (
	t0        = time.UnixMilli(1_800_000_000_000).UTC()
	wallReset = t0.Add(time.Hour)
)

func at(d time.Duration) time.Time { return t0.Add(d) }

func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

type headers = map[string][]string

// says builds unified headers from pairs of suffix and value.
func says(pairs ...string) headers {
	h := headers{"content-type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		h[unifiedPrefix+pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

// wall is the WALL of the fixture, with changes; an empty value takes a header
// away.
func wall(pairs ...string) headers {
	h := says("status", "rejected", "reset", epoch(wallReset), "representative-claim", "five_hour",
		"slow-offer", "treatment", "slow-retry-after", "20", "slow-max-wait", "1200")
	for i := 0; i < len(pairs); i += 2 {
		h[unifiedPrefix+pairs[i]] = []string{pairs[i+1]}
		if pairs[i+1] == "" {
			delete(h, unifiedPrefix+pairs[i])
		}
	}
	return h
}

func with(h headers, name, value string) headers {
	h = maps.Clone(h)
	h[name] = []string{value}
	return h
}

var (
	bothOff   = Switches{}
	lowOn     = Switches{LowPriority: true}
	autoOn    = Switches{AutoReset: true}
	bothOn    = Switches{LowPriority: true, AutoReset: true}
	nothing   = Decision{}
	accepted  = Decision{Action: Retry, Via: ViaAccepted}
	viaReset  = Decision{Action: Retry, Via: ViaReset}
	askReset  = Decision{Action: AskReset}
	keyOfTest = Key{Connection: "c1"}
)

func ended(r EndReason) Decision { return Decision{Action: End, Reason: r} }

func waits(d time.Duration, via Via) Decision { return Decision{Action: Retry, Delay: d, Via: via} }

// bench is a set of lanes with settable dice and what it reported.
type bench struct {
	t     testing.TB
	lanes *Lanes
	dice  float64
	notes []LaneChange
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, dice: 0.5}
	b.lanes = NewLanes(func() float64 { return b.dice }, func(c LaneChange) { b.notes = append(b.notes, c) })
	return b
}

// open begins a request without a deadline of its own.
func (b *bench) open(now time.Time, sw Switches) *Request {
	return b.lanes.Open(keyOfTest, sw, now, 0)
}

// active is the fixture's active(k): the lane was accepted with WALL at t0. The
// request's next attempt carries the header.
func (b *bench) active(budget time.Duration) *Request {
	b.t.Helper()
	r := b.lanes.Open(keyOfTest, lowOn, t0, budget)
	b.want(b.call(r, t0, 429, wall()), accepted)
	return r
}

// call makes one attempt: the header is asked for, then the answer is told.
func (b *bench) call(r *Request, now time.Time, code int, h headers) Decision {
	r.Header(now)
	return r.Answer(now, code, h)
}

// raced is an answer to an attempt that began before the lane did.
func raced(r *Request, now time.Time, code int, h headers) Decision {
	r.sent = false
	return r.Answer(now, code, h)
}

func (b *bench) want(got, want Decision) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("decision %+v, want %+v", got, want)
	}
}

// isActive looks without a request.
func (b *bench) isActive(now time.Time) bool {
	for _, st := range b.lanes.Status(now, keyOfTest.Connection) {
		if st.State == LaneActive {
			return true
		}
	}
	return false
}

func (b *bench) wantActive(now time.Time, want bool) {
	b.t.Helper()
	if got := b.isActive(now); got != want {
		b.t.Errorf("active = %v, want %v", got, want)
	}
}

func (b *bench) status(now time.Time) LaneStatus {
	b.t.Helper()
	list := b.lanes.Status(now, keyOfTest.Connection)
	if len(list) != 1 {
		b.t.Fatalf("%d lanes, want one", len(list))
	}
	return list[0]
}

// stamped reports whether an attempt of a new request would carry the header.
func (b *bench) stamped(now time.Time, sw Switches) bool {
	_, _, send := b.open(now, sw).Header(now)
	return send
}

package simulation

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// trouble is what goes wrong with a request at an account.
type trouble uint8

const (
	none trouble = iota
	serverError
	unavailable // 503 with Retry-After
	reset       // the connection is closed without an answer
	silence     // nothing comes
	rateLimited // 429 with Retry-After
	throttled   // 429 without
	usedUp      // 429 until the quota is new
	over        // more at once than the account stands
	disturbed   // asked again although it wants to be left alone
)

// outage is a time in which every request fails in one way.
type outage struct {
	from, to time.Duration // since the start
	what     trouble
}

// account is one simulated account of a provider: what it stands, what goes
// wrong with it, and what it has seen.
type account struct {
	name, provider, model string

	limit      int // requests at once, 0: any number
	modelLimit int // … of its model
	quota      int // requests in each window, 0: any number
	window     time.Duration
	first      time.Duration // median time to the first byte
	outages    []outage
	odds       odds

	mu      sync.Mutex
	rng     *rand.Rand
	start   time.Time
	running int
	used    int // in this window
	opened  time.Time
	asked   time.Time // when it said that it wants to be left alone …
	alone   time.Time // … and until when
	seen    seen
}

// odds are the chances of trouble outside outages.
type odds struct{ serverError, reset, silence, rateLimited, throttled float64 }

// seen is what an account has counted.
type seen struct {
	calls, served  int
	most           int // at once
	over, disturbs int
}

// call is what an account makes of a request.
type call struct {
	what  trouble
	first time.Duration // to the first byte
	rest  time.Duration // from there to the end
}

// begin takes a request in that arrived at now. end must follow.
func (a *account) begin(now time.Time) call {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.calls++
	a.running++
	a.seen.most = max(a.seen.most, a.running)
	c := call{what: a.trouble(now), first: a.lasts(a.first), rest: a.lasts(2 * a.first)}
	switch c.what {
	case over:
		a.seen.over++
	case disturbed:
		a.seen.disturbs++
	case none:
		a.seen.served++
		a.used++
	case serverError, unavailable, reset, silence, rateLimited, throttled, usedUp:
	}
	return c
}

// after is the Retry-After of an answer that is given now; the account wants to
// be left alone from now on.
func (a *account) after(now time.Time, what trouble) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var d time.Duration
	switch what {
	case rateLimited, unavailable:
		d = time.Duration(1+a.rng.IntN(60)) * time.Second
	case usedUp:
		d = a.opened.Add(a.window).Sub(now).Truncate(time.Second) + time.Second
	case none, serverError, reset, silence, throttled, over, disturbed:
		return 0
	}
	if until := now.Add(d); until.After(a.alone) {
		a.asked, a.alone = now, until
	}
	return d
}

func (a *account) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
}

func (a *account) trouble(now time.Time) trouble {
	// Who was on the way when the account said so did not know.
	if now.After(a.asked) && now.Before(a.alone.Add(-time.Millisecond)) {
		return disturbed
	}
	for _, l := range []int{a.limit, a.modelLimit} {
		if l > 0 && a.running > l {
			return over
		}
	}
	for _, o := range a.outages {
		if at := now.Sub(a.start); at >= o.from && at < o.to {
			return o.what
		}
	}
	if a.quota > 0 {
		if now.Sub(a.opened) >= a.window {
			a.opened, a.used = now.Truncate(a.window), 0
		}
		if a.used >= a.quota {
			return usedUp
		}
	}
	p := a.rng.Float64()
	for _, o := range []struct {
		p    float64
		what trouble
	}{
		{a.odds.serverError, serverError},
		{a.odds.reset, reset},
		{a.odds.silence, silence},
		{a.odds.rateLimited, rateLimited},
		{a.odds.throttled, throttled},
	} {
		if p < o.p {
			return o.what
		}
		p -= o.p
	}
	return none
}

// dice are seeded, so that a day can be played again.
func dice(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // nothing secret depends on it
}

// lasts draws a time around a median, now and then a long one.
func (a *account) lasts(median time.Duration) time.Duration {
	return min(time.Minute, time.Duration(float64(median)*math.Exp(0.5*a.rng.NormFloat64())))
}

func (a *account) look() seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

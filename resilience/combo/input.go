package combo

import (
	"cmp"
	"slices"
	"time"
)

// Rand returns a number from 0 up to, but not including, 1. The program hands
// in a cryptographic source, tests a scripted one.
type Rand func() float64

// Input is everything a strategy may look at.
type Input struct {
	Combo   string // the combo's name
	ComboID string
	Targets []*Target
	Config  *Config
	State   *State
	Now     time.Time
	Rand    Rand

	CacheKey string // the prompt cache key or a hash of the stable prefix, empty: none
	Session  string // the session's key, empty: none
	Hints    Hints  // what the auto engine is told of the request

	// Refusal is set by a strategy that turns the request down.
	Refusal *Refusal
	// Reserved is the connection a slot was taken on; Result gives it back.
	Reserved string
}

// Result is the end of a request, for the strategies that learn from it.
type Result struct {
	Entry    *Entry
	Combo    string
	ComboID  string
	Declared []*Target // as the strategy saw them
	Order    []*Target // as they were tried
	Config   *Config
	State    *State
	Now      time.Time

	Served *Target   // the target that answered, nil: none
	Failed []*Target // those that failed, in order
	// Connection is the one that answered when Served names none.
	Connection string
	Reserved   string
	Relay      *Relay // context-relay only
}

// connection returns the connection that served the request.
func (r *Result) connection() string {
	if r.Served == nil {
		return r.Connection
	}
	return usedBy(r.Served, r.Connection)
}

// usedBy returns the connection that a target used: its own, else the given one.
func usedBy(t *Target, connection string) string { return cmp.Or(t.Connection, connection) }

// indexOf returns the place of an execution key, or -1.
func indexOf(list []*Target, key string) int {
	for i := range list {
		if list[i].Key == key {
			return i
		}
	}
	return -1
}

// pick returns a random index below n.
func pick(rand Rand, n int) int { return min(int(rand()*float64(n)), n-1) }

// shuffle is Fisher–Yates from the end.
func shuffle[T any](rand Rand, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := pick(rand, i+1)
		list[i], list[j] = list[j], list[i]
	}
}

// draw picks an index by weight: it walks the list subtracting each weight and
// takes the first that brings the draw to zero. Without any weight all are
// alike.
func draw(rand Rand, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += max(w, 0)
	}
	if sum <= 0 {
		return pick(rand, len(weights))
	}
	r, last := rand()*sum, 0
	for i, w := range weights {
		if w <= 0 { // never drawn while another has weight
			continue
		}
		last = i
		if r -= w; r <= 0 {
			return i
		}
	}
	return last
}

// scored is a target's place in a ranking.
type scored struct {
	at    int
	score float64
}

// rank returns the targets by score, highest first; equal scores keep their
// declared order.
func rank(targets []*Target, score func(t *Target) float64) []scored {
	list := make([]scored, len(targets))
	for i := range targets {
		list[i] = scored{i, score(targets[i])}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return list
}

func take(targets []*Target, list []scored) []*Target {
	out := make([]*Target, len(list))
	for i, s := range list {
		out[i] = targets[s.at]
	}
	return out
}

// front returns the targets with the one at i first.
func front(targets []*Target, i int) []*Target {
	out := make([]*Target, 0, len(targets))
	out = append(out, targets[i])
	out = append(out, targets[:i]...)
	return append(out, targets[i+1:]...)
}

// rotate returns the targets from i on, then those before it.
func rotate(targets []*Target, i int) []*Target {
	out := make([]*Target, 0, len(targets))
	return append(append(out, targets[i:]...), targets[:i]...)
}

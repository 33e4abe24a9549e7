package db

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"breakwater/resilience/lease"
)

// leaseModel is what must be true of the leases, kept beside the database.
type leaseModel struct {
	now  time.Time
	gens [8]int64           // the newest generation of each owner
	held map[string]holding // by connection
}

type holding struct {
	owner int
	gen   int64
	until time.Time
}

// pass lets time go by; what has run out is over.
func (m *leaseModel) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for c, h := range m.held {
		if !m.now.Before(h.until) {
			delete(m.held, c)
		}
	}
}

func (m *leaseModel) of(owner int) (string, holding) {
	for c, h := range m.held {
		if h.owner == owner {
			return c, h
		}
	}
	return "", holding{}
}

// expect says what an operation must come to, and does it in the model.
func (m *leaseModel) expect(n int, op lease.Op) lease.Result {
	at, mine := m.of(n)
	conn, current := op.ConnectionID, at != "" && op.Generation == mine.gen
	_, taken := m.held[conn]
	life := m.now.Add(lease.DefaultTTL)
	switch op.Action {
	case lease.Acquire:
		switch {
		case at == conn:
			m.held[conn] = holding{n, mine.gen, life}
			return lease.Reused
		case at != "":
			return lease.OwnerAlreadyActive
		case taken:
			return lease.ConnectionBusy
		}
		m.gens[n]++
		m.held[conn] = holding{n, m.gens[n], life}
		return lease.Acquired
	case lease.Check:
		if current && at == conn {
			return lease.Valid
		}
		return lease.Stale // or one of its kind
	}
	if !current {
		return lease.Stale
	}
	switch {
	case op.Action == lease.Renew:
		m.held[at] = holding{n, mine.gen, life}
		return lease.Renewed
	case op.Action != lease.Transition:
		delete(m.held, at)
		return lease.Ended
	case at == conn:
		return lease.Reused
	case taken:
		return lease.ConnectionBusy
	}
	delete(m.held, at)
	m.held[conn] = mine
	return lease.Transitioned
}

// actions are weighted: half of what happens is a dispatch.
var actions = []lease.Action{
	lease.Acquire, lease.Acquire, lease.Acquire, lease.Transition, lease.Transition, lease.Renew, lease.Release, lease.Invalidate,
	lease.Check, lease.Check, lease.Check, lease.Check, lease.Check, lease.Check, lease.Check, lease.Check,
}

// TestLeaseModel runs random operations of 8 owners on 5 connections, with
// restarts, against a plain model: never two owners of one connection, never a
// generation dispatched that is not the owner's newest. BREAKWATER_CHAOS=1 runs
// the 20 000 steps of the nightly tests.
func TestLeaseModel(t *testing.T) {
	steps := 2_000
	if os.Getenv("BREAKWATER_CHAOS") != "" {
		steps = 20_000
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	s := open(t, t.TempDir())
	m := &leaseModel{now: t0.Truncate(time.Millisecond), held: map[string]holding{}}
	dispatched, restarts := 0, 0
	for step := range steps {
		m.pass(time.Duration(r.IntN(4000)) * time.Millisecond)
		if step%400 == 399 {
			s, restarts = reopen(t, s), restarts+1
		}
		n := r.IntN(8)
		op := lease.Op{
			Action: actions[r.IntN(len(actions))], OwnerHash: owner(n), KeyID: "k", Provider: "p", ID: fmt.Sprint("L", step),
			ConnectionID: fmt.Sprint("c", r.IntN(5)), Generation: max(m.gens[n]-int64(r.IntN(4)/3), 1), // now and then a stale one
		}
		if at, _ := m.of(n); op.Action == lease.Check && at != "" && r.IntN(2) == 0 {
			op.ConnectionID = at
		}
		want := m.expect(n, op)
		got := operate(t, s, op, m.now)
		if op.Action == lease.Check {
			if (got == lease.Valid) != (want == lease.Valid) {
				t.Fatalf("seed %d step %d: the fence said %s to %+v; the model holds %+v", seed, step, got, op, m.held)
			}
			if got == lease.Valid {
				dispatched++
			}
			continue
		}
		toldAgain := op.Action == lease.Release && want == lease.Stale && got == lease.Ended
		if got != want && !toldAgain {
			t.Fatalf("seed %d step %d: %+v came to %s, want %s; the model holds %+v", seed, step, op, got, want, m.held)
		}
		if step%500 == 0 {
			sameAsModel(t, s, m)
		}
	}
	sameAsModel(t, s, m)
	if dispatched < steps/50 || restarts == 0 {
		t.Errorf("%d dispatches and %d restarts say little", dispatched, restarts)
	}
	t.Logf("seed %d: %d steps, %d dispatches, %d restarts", seed, steps, dispatched, restarts)
}

func operate(t *testing.T, s *Store, op lease.Op, now time.Time) lease.Result {
	t.Helper()
	if op.Action != lease.Check {
		return change(t, s, op, now).Result
	}
	out, err := s.CheckLease(t.Context(), op, now)
	if err != nil {
		t.Fatal(err)
	}
	return out.Result
}

func sameAsModel(t *testing.T, s *Store, m *leaseModel) {
	t.Helper()
	list, err := s.ActiveLeases(t.Context(), m.now)
	if err != nil {
		t.Fatal(err)
	}
	live := 0
	for _, l := range list {
		if !l.Live(m.now) {
			continue
		}
		live++
		if h, ok := m.held[l.ConnectionID]; !ok || owner(h.owner) != l.OwnerHash || h.gen != l.Generation {
			t.Fatalf("stored %+v, the model holds %+v", l, m.held)
		}
	}
	if live != len(m.held) {
		t.Fatalf("%d leases are stored, the model holds %d", live, len(m.held))
	}
}

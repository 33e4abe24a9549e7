package lease

import (
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// held returns an active lease of owner a and key k on connection c1.
func held(change ...func(*Lease)) *Lease {
	l := Lease{
		ID: "L1", OwnerHash: "a", KeyID: "k", Provider: "p", ConnectionID: "c1", Generation: 1, State: Active,
		AcquiredAt: t0, RenewedAt: t0, ExpiresAt: t0.Add(DefaultTTL),
	}
	for _, f := range change {
		f(&l)
	}
	return &l
}

func released(l *Lease) { l.State, l.EndReason, l.EndedAt = Released, OwnerExit, t0 }

// foreign returns another owner's active lease on connection c2.
func foreign() *Lease {
	return held(func(l *Lease) {
		l.ID, l.OwnerHash, l.ConnectionID, l.ExpiresAt = "L2", "b", "c2", t0.Add(40*time.Second)
	})
}

func op(a Action, change ...func(*Op)) Op {
	o := Op{Action: a, OwnerHash: "a", KeyID: "k", Generation: 1, ConnectionID: "c1", Provider: "p", ID: "new"}
	for _, f := range change {
		f(&o)
	}
	return o
}

func on(conn string) func(*Op)      { return func(o *Op) { o.ConnectionID = conn } }
func key(k string) func(*Op)        { return func(o *Op) { o.KeyID = k } }
func gen(n int64) func(*Op)         { return func(o *Op) { o.Generation = n } }
func why(r Reason) func(*Op)        { return func(o *Op) { o.Reason = r } }
func ttl(d time.Duration) func(*Op) { return func(o *Op) { o.TTL = d } }

// rows names what is written: id, state, generation and the reason of the end.
type row struct {
	id    string
	state State
	gen   int64
	why   Reason
}

func TestOperations(t *testing.T) {
	later := t0.Add(30 * time.Second)
	for _, tc := range []struct {
		name string
		view View
		op   Op
		now  time.Time
		want Result
		rows []row
		end  time.Time // of the lease in the outcome
	}{
		{
			name: "case 125 acquire fresh", op: op(Acquire), now: t0,
			want: Acquired, rows: []row{{"new", Active, 1, ""}}, end: t0.Add(120 * time.Second),
		},
		{
			name: "case 126 the same again", view: View{Own: held(), Holder: held(), Highest: 1}, op: op(Acquire), now: later,
			want: Reused, rows: []row{{"L1", Active, 1, ""}}, end: later.Add(DefaultTTL),
		},
		{
			name: "case 127 same owner, other connection", view: View{Own: held(), Highest: 1}, op: op(Acquire, on("c3")), now: later,
			want: OwnerAlreadyActive, end: t0.Add(DefaultTTL),
		},
		{
			name: "same owner, other key", view: View{Own: held(), Holder: held(), Highest: 1}, op: op(Acquire, key("k2")), now: later,
			want: OwnerAlreadyActive, end: t0.Add(DefaultTTL),
		},
		{
			name: "case 128 other owner, same connection", view: View{Holder: foreign()}, op: op(Acquire, on("c2")), now: later,
			want: ConnectionBusy, end: t0.Add(40 * time.Second),
		},
		{
			name: "case 129 acquire after release", view: View{Past: held(released), Highest: 1}, op: op(Acquire), now: later,
			want: Acquired, rows: []row{{"new", Active, 2, ""}}, end: later.Add(DefaultTTL),
		},
		{
			name: "case 130 acquire after expiry by another owner", view: View{Holder: foreign()}, op: op(Acquire, on("c2")), now: t0.Add(40 * time.Second),
			want: Acquired, rows: []row{{"L2", Expired, 1, TTLExpired}, {"new", Active, 1, ""}}, end: t0.Add(160 * time.Second),
		},
		{
			name: "acquire after the owner's own expiry", view: View{Own: held(), Holder: held(), Highest: 1}, op: op(Acquire), now: t0.Add(DefaultTTL),
			want: Acquired, rows: []row{{"L1", Expired, 1, TTLExpired}, {"new", Active, 2, ""}}, end: t0.Add(2 * DefaultTTL),
		},
		{
			name: "renew", view: View{Own: held()}, op: op(Renew), now: later,
			want: Renewed, rows: []row{{"L1", Active, 1, ""}}, end: later.Add(DefaultTTL),
		},
		{name: "case 131 renew with a wrong generation", view: View{Own: held()}, op: op(Renew, gen(2)), now: later, want: Stale},
		{name: "renew with another key", view: View{Own: held()}, op: op(Renew, key("k2")), now: later, want: Stale},
		{
			name: "case 131 renew after expiry", view: View{Own: held()}, op: op(Renew), now: t0.Add(DefaultTTL),
			want: Stale, rows: []row{{"L1", Expired, 1, TTLExpired}},
		},
		{
			name: "release", view: View{Own: held()}, op: op(Release), now: later,
			want: Ended, rows: []row{{"L1", Released, 1, OwnerExit}}, end: t0.Add(DefaultTTL),
		},
		{
			name: "release because the client gave up", view: View{Own: held()}, op: op(Release, why(ClientCancelled)), now: later,
			want: Ended, rows: []row{{"L1", Released, 1, ClientCancelled}}, end: t0.Add(DefaultTTL),
		},
		{name: "case 132 release twice", view: View{Past: held(released)}, op: op(Release), now: later, want: Ended, end: t0.Add(DefaultTTL)},
		{name: "release of what another key released", view: View{Past: held(released)}, op: op(Release, key("k2")), now: later, want: Stale},
		{
			name: "release of what has expired", view: View{Past: held(func(l *Lease) { l.State = Expired })}, op: op(Release), now: later, want: Stale,
		},
		{
			name: "case 133 transition to a free connection", view: View{Own: held()}, op: op(Transition, on("c3"), why(QuotaUnavailable)), now: later,
			want: Transitioned, rows: []row{{"L1", Invalidated, 1, QuotaUnavailable}, {"new", Active, 1, ""}}, end: t0.Add(DefaultTTL),
		},
		{name: "transition to where the owner is", view: View{Own: held(), Holder: held()}, op: op(Transition), now: later, want: Reused, end: t0.Add(DefaultTTL)},
		{
			name: "case 134 transition to a busy connection", view: View{Own: held(), Holder: foreign()}, op: op(Transition, on("c2")), now: later,
			want: ConnectionBusy, end: t0.Add(40 * time.Second),
		},
		{
			name: "transition to one whose lease has run out", view: View{Own: held(), Holder: foreign()}, op: op(Transition, on("c2")), now: t0.Add(time.Minute),
			want: Transitioned, rows: []row{{"L2", Expired, 1, TTLExpired}, {"L1", Invalidated, 1, HealthOrCooldown}, {"new", Active, 1, ""}}, end: t0.Add(DefaultTTL),
		},
		{name: "transition of a stale generation", view: View{Own: held()}, op: op(Transition, on("c3"), gen(7)), now: later, want: Stale},
		{
			name: "invalidate", view: View{Own: held()}, op: op(Invalidate, why(ManagedKeyRevoked)), now: later,
			want: Ended, rows: []row{{"L1", Invalidated, 1, ManagedKeyRevoked}}, end: t0.Add(DefaultTTL),
		},
		{name: "invalidate what is over", op: op(Invalidate), now: later, want: Stale},
		{name: "fence", view: View{Own: held(), Holder: held()}, op: op(Check), now: later, want: Valid, end: t0.Add(DefaultTTL)},
		{name: "fence without a lease", op: op(Check), now: later, want: Required},
		{name: "fence after the end", view: View{Own: held()}, op: op(Check), now: t0.Add(DefaultTTL), want: Required, rows: []row{{"L1", Expired, 1, TTLExpired}}},
		{name: "fence of a stale generation", view: View{Own: held()}, op: op(Check, gen(2)), now: later, want: Stale, end: t0.Add(DefaultTTL)},
		{name: "case 143 fence after a key swap", view: View{Own: held()}, op: op(Check, key("k2")), now: later, want: AuthorizationMismatch, end: t0.Add(DefaultTTL)},
		{name: "case 143 fence after a connection swap", view: View{Own: held()}, op: op(Check, on("c3")), now: later, want: ConnectionMismatch, end: t0.Add(DefaultTTL)},
		{name: "fence before the connection is known", view: View{Own: held()}, op: op(Check, on("")), now: later, want: Valid, end: t0.Add(DefaultTTL)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Apply(tc.view, tc.op, tc.now)
			if got.Result != tc.want || !got.Lease.ExpiresAt.Equal(tc.end) {
				t.Errorf("%s until %v, want %s until %v", got.Result, got.Lease.ExpiresAt, tc.want, tc.end)
			}
			var rows []row
			for _, l := range got.Write {
				rows = append(rows, row{l.ID, l.State, l.Generation, l.EndReason})
				if ended := !l.EndedAt.IsZero(); ended != (l.State != Active) || ended != (l.EndReason != "") {
					t.Errorf("row %+v is half ended", l)
				}
			}
			if len(rows) != len(tc.rows) {
				t.Fatalf("writes %v, want %v", rows, tc.rows)
			}
			for i := range rows {
				if rows[i] != tc.rows[i] {
					t.Errorf("writes %v, want %v", rows, tc.rows)
				}
			}
		})
	}
}

func TestLivesAreClamped(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		0: DefaultTTL, 999 * time.Millisecond: time.Second, time.Second: time.Second,
		1_800_001 * time.Millisecond: 30 * time.Minute, -time.Hour: time.Second,
	} {
		for _, a := range []Action{Acquire, Renew} {
			v := View{Own: held(func(l *Lease) { l.ExpiresAt = t0.Add(MaxTTL) })}
			if a == Acquire {
				v = View{}
			}
			if got := Apply(v, op(a, ttl(in)), t0).Lease.ExpiresAt.Sub(t0); got != want {
				t.Errorf("case 135 %s for %v lives %v, want %v", a, in, got, want)
			}
		}
	}
}

// A clock that was set back must not lock a connection away (ruling 37).
func TestAClockSetBackCannotPinALease(t *testing.T) {
	l := held(func(l *Lease) { l.ExpiresAt = t0.Add(90 * 24 * time.Hour) })
	if got := l.At(t0).ExpiresAt; !got.Equal(t0.Add(MaxTTL)) {
		t.Errorf("ends at %v", got)
	}
	if !l.Live(t0) || l.Live(l.ExpiresAt) {
		t.Error("a lease lives until its end and no longer")
	}
}

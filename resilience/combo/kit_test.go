package combo

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func seeded(seed uint64) Rand { return rand.New(rand.NewPCG(seed, 1)).Float64 }

// script returns the numbers in turn, the last one for ever.
func script(list ...float64) Rand {
	i := 0
	return func() float64 {
		v := list[min(i, len(list)-1)]
		i++
		return v
	}
}

// tgt is a target "provider/model" with its key.
func tgt(key string) *Target {
	return of(Spec{Kind: KindModel, Key: key, StepID: key, Model: "p/" + key, Provider: "p", Connection: "c-" + key})
}

// of is a target of which only its settled part is known.
func of(s Spec) *Target { return &Target{Spec: &s} }

// held is how many keys a slot holds.
func held[T any](st *State, s slot[T]) int { return len(s.in(st).items) }

func tgts(keys ...string) []*Target {
	out := make([]*Target, len(keys))
	for i, k := range keys {
		out[i] = tgt(k)
		out[i].Group = i
	}
	return out
}

func input(targets []*Target) *Input {
	cfg := Defaults()
	return &Input{Combo: "c", Targets: targets, Config: &cfg, State: NewState(), Now: t0, Rand: seeded(1)}
}

func keys(list []*Target) string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Key
	}
	return strings.Join(names, " ")
}

func wantKeys(t *testing.T, got []*Target, want string) {
	t.Helper()
	if keys(got) != want {
		t.Errorf("order = %s, want %s", keys(got), want)
	}
}

func order(t *testing.T, name Name, in *Input) []*Target {
	t.Helper()
	e, ok := Lookup(string(name))
	if !ok {
		t.Fatalf("no strategy %s", name)
	}
	return e.Order(in)
}

// done ends a request that the target under key has served.
func done(name Name, in *Input, got []*Target, served string, failed ...*Target) {
	e, _ := Lookup(string(name))
	r := &Result{Entry: e, Combo: in.Combo, Declared: in.Targets, Order: got, Config: in.Config, State: in.State, Now: in.Now, Failed: failed, Reserved: in.Reserved}
	if i := indexOf(in.Targets, served); i >= 0 {
		r.Served = in.Targets[i]
	}
	if e.Done != nil {
		e.Done(r)
	}
}

func used(share float64, in time.Duration) Window {
	w := Window{Known: true, Used: share}
	if in != 0 {
		w.Reset = t0.Add(in)
	}
	return w
}

func weekly(share float64, in time.Duration) *Quota {
	return &Quota{At: t0, Weekly: used(share, in)}
}

func session(share float64, in time.Duration) *Quota {
	return &Quota{At: t0, Session: used(share, in)}
}

// place is a World of fixed contents.
type place struct {
	combos   map[string]*Combo
	models   map[string][]string
	accounts map[string][]Account
}

func (p place) Combo(name string) *Combo           { return p.combos[name] }
func (p place) Models(provider string) []string    { return p.models[provider] }
func (p place) Accounts(provider string) []Account { return p.accounts[provider] }

func planner(w place) *Planner {
	return &Planner{Resolver: Resolver{World: w}, State: NewState(), Rand: seeded(1)}
}

func look(f func(t *Target) Live) func(time.Time, *Target) {
	return func(_ time.Time, t *Target) { t.Live = f(t) }
}

// facts says the same of every target.
func facts(f Facts) func(*Spec) { return func(s *Spec) { s.Facts = f } }

func mk(name string, strategy Name, steps ...string) Combo {
	c := Combo{ID: name, Name: name, Strategy: strategy}
	for _, s := range steps {
		c.Steps = append(c.Steps, Step{Model: s})
	}
	return c.Normalize(func(n string) bool { return !strings.Contains(n, "/") })
}

func models(list []*Target) string {
	names := make([]string, len(list))
	for i := range list {
		if names[i] = list[i].Model; list[i].Kind == KindRef {
			names[i] = "[" + list[i].Combo + "]"
		}
		if list[i].Connection != "" {
			names[i] += "@" + list[i].Connection
		}
	}
	return strings.Join(names, " ")
}

func wantModels(t *testing.T, got []*Target, want string) {
	t.Helper()
	if models(got) != want {
		t.Errorf("targets = %s, want %s", models(got), want)
	}
}

package drill

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
)

var quiet = slog.New(slog.DiscardHandler)

// real is the product that a drill must leave alone: three connections, one of
// which rests, with keys nobody may ask for, and a combo of the strategy.
type real struct {
	*control.Service
	store *guarded
	asked *atomic.Int64 // requests that came to the providers' real addresses
	combo control.Combo
}

// guarded is a store that counts what is written.
type guarded struct {
	*store
	writes atomic.Int64
}

func (g *guarded) SaveConnection(context.Context, control.ConnectionRecord) error { return nil }
func (g *guarded) SaveCombos(_ context.Context, list []control.ComboRecord) error { return nil }
func (g *guarded) SaveSettings(ctx context.Context, v map[string][]byte) error {
	g.writes.Add(1)
	return g.store.SaveSettings(ctx, v)
}
func (g *guarded) AppendActivity(control.Activity) { g.writes.Add(1) }

func newReal(t *testing.T, strategy string) *real {
	t.Helper()
	r := &real{asked: &atomic.Int64{}}
	outside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.asked.Add(1) }))
	t.Cleanup(outside.Close)
	var records []control.ConnectionRecord
	for i, c := range []struct{ id, provider, credential, model string }{
		{"a", "openai", "apikey", "gpt-5-mini"}, {"b", "mistral", "apikey", "mistral-large-latest"}, {"c", "groq", "apikey", "llama-3.3-70b-versatile"},
	} {
		records = append(records, control.ConnectionRecord{
			ID: c.id, Provider: c.provider, Name: strings.ToUpper(c.id), Credential: c.credential, BaseURL: outside.URL + "/v1",
			Models: []string{c.model}, Priority: i + 1, Active: true,
		})
	}
	none := func(context.Context, string) ([]byte, bool, error) { return nil, false, nil }
	r.store = &guarded{store: newStore(control.Twin{Connections: records, Setting: none})}
	var err error
	r.Service, err = control.New(t.Context(), control.Config{Store: r.store, Secrets: secrets{}, Log: quiet, Clock: clock.System{}, Drill: Run})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.combo, err = r.AddCombo(t.Context(), control.ComboInput{Name: "team", Strategy: strategy, Active: new(false), Steps: []control.ComboStep{
		{Model: "openai/gpt-5-mini"}, {Model: "mistral/mistral-large-latest"}, {Model: "groq/llama-3.3-70b-versatile"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// look is the real state without what every look changes.
func (r *real) look(t *testing.T) control.Snapshot {
	t.Helper()
	s, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Seq, s.At = 0, time.Time{}
	return s
}

// story tells a report line by line, without times.
func story(d control.DrillReport) (out []string) {
	for _, r := range d.Requests {
		var parts []string
		for _, s := range r.Activity.Trace {
			part := fmt.Sprintf("%s %s", s.ConnectionName, s.Kind)
			if s.Status != 0 && s.Kind != control.StepAnswered {
				part += fmt.Sprintf(" %d", s.Status)
			}
			parts = append(parts, part)
		}
		for _, m := range r.Moves {
			parts = append(parts, fmt.Sprintf("[%s %s%s: %s to %s]", m.What, m.ConnectionName, m.Model, m.From, m.To))
		}
		out = append(out, r.Activity.Result+": "+strings.Join(parts, ", "))
	}
	return out
}

func TestDrill(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []control.DrillFault
		n      int
		want   []string
	}{
		{"nothing wrong", nil, 2, []string{"answered: A answered", "answered: A answered"}},
		{"a 429 with its time", []control.DrillFault{{ConnectionID: "a", Kind: "rate_limit", RetryAfterSeconds: 60}}, 2, []string{
			"answered: A failed 429, B answered, [connection A: serving to cooling]",
			"answered: A skipped, B answered",
		}},
		{"a 529 of one request", []control.DrillFault{{ConnectionID: "a", Kind: "overloaded", From: 2, To: 2}}, 2, []string{
			"answered: A answered",
			"answered: A failed 529, B answered, [connection A: serving to cooling]",
		}},
		{"a 503 of two", []control.DrillFault{{ConnectionID: "a", Kind: "server_error"}, {ConnectionID: "b", Kind: "server_error"}}, 1, []string{
			"answered: A failed 503, B failed 503, C answered, [connection A: serving to cooling], [connection B: serving to cooling]",
		}},
		{"a stall", []control.DrillFault{{ConnectionID: "a", Kind: "stall"}}, 1, nil},
		{"a cut after output", []control.DrillFault{{ConnectionID: "a", Kind: "cut"}}, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReal(t, "priority")
			before, writes := r.look(t), r.store.writes.Load()
			sockets := openSockets(t)
			got, err := r.Drill(t.Context(), control.DrillRequest{Combo: r.combo.ID, Faults: tt.faults, Requests: tt.n})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range story(got) {
				t.Log(line)
			}
			if tt.want != nil && strings.Join(story(got), "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(story(got), "\n"), strings.Join(tt.want, "\n"))
			}
			if len(got.Requests) != tt.n || got.Answered+got.Failed != tt.n || len(got.Connections) != 3 {
				t.Errorf("%d requests, %d answered, %d failed, %d connections", len(got.Requests), got.Answered, got.Failed, len(got.Connections))
			}
			if after := r.look(t); !reflect.DeepEqual(before, after) || r.store.writes.Load() != writes || r.asked.Load() != 0 {
				t.Errorf("the real state was touched: %d writes, %d requests\nbefore %+v\nafter %+v", r.store.writes.Load()-writes, r.asked.Load(), before, after)
			}
			if n := openSockets(t); n != sockets {
				t.Errorf("%d sockets are open, %d were", n, sockets)
			}
		})
	}
}

// openSockets counts the process's sockets; 0 where the system does not tell.
func openSockets(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

func TestADrillOutOfBoundsIsRefused(t *testing.T) {
	r := newReal(t, "priority")
	for name, in := range map[string]control.DrillRequest{
		"too many requests":   {Requests: control.MaxDrillRequests + 1},
		"less than none":      {Requests: -1},
		"a long spacing":      {Spacing: control.MaxDrillSpacing.Milliseconds() + 1},
		"nobody's fault":      {Faults: []control.DrillFault{{ConnectionID: "zzz", Kind: "stall"}}},
		"an unknown fault":    {Faults: []control.DrillFault{{ConnectionID: "a", Kind: "earthquake"}}},
		"an end before begin": {Faults: []control.DrillFault{{ConnectionID: "a", Kind: "stall", From: 5, To: 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			in.Combo = r.combo.ID
			if _, err := r.Drill(t.Context(), in); err == nil || !strings.Contains(err.Error(), "invalid input") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestADrillEndsWithItsContext(t *testing.T) {
	r := newReal(t, "priority")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Drill(ctx, control.DrillRequest{Combo: r.combo.ID}); err == nil {
		t.Error("it went on")
	}
}

// Whatever the real connection logs in with, its twin has a made-up credential
// and is asked.
func TestADrillAsksEveryKindOfLogin(t *testing.T) {
	for _, c := range []struct{ provider, credential, model string }{
		{"openai", "apikey", "gpt-5"},
		{"claude", "oauth", "claude-sonnet-4-5"},
		{"claude", "passthrough", "claude-sonnet-4-5"},
		{"codex", "oauth", "gpt-5"},
		{"codex", "passthrough", "gpt-5"},
	} {
		t.Run(c.provider+" "+c.credential, func(t *testing.T) {
			got, err := Run(t.Context(), control.Twin{
				Request: control.DrillRequest{Requests: 1}, Model: "team", Targets: []string{"a"},
				Connections: []control.ConnectionRecord{{ID: "a", Provider: c.provider, Name: "A", Credential: c.credential, Priority: 1, Active: true}},
				Combos: []control.ComboRecord{{Combo: combo.Combo{
					ID: "1", Name: "team", Strategy: combo.Priority, Steps: []combo.Step{{Kind: combo.KindModel, Model: c.provider + "/" + c.model, Provider: c.provider}},
				}}},
				Setting: func(context.Context, string) ([]byte, bool, error) { return nil, false, nil },
			})
			if err != nil || strings.Join(story(got), "\n") != "answered: A answered" {
				t.Errorf("%q, %v", story(got), err)
			}
		})
	}
}

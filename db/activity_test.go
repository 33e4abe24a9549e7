package db

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
)

// sampleActivity is a request that failed over from c1 to c2.
func sampleActivity(id int64) control.Activity {
	until := t0.Add(time.Minute)
	return control.Activity{
		ID: id, At: t0.Add(time.Duration(id) * time.Second), Method: "POST", Path: "/v1/messages", Dialect: "anthropic",
		Client: "claude-code", Model: "claude-opus-5", Stream: true, Status: 200, Result: "answered", Provider: "claude",
		ConnectionID: "c2", ConnectionName: "Home", FailedOver: true, DurationMs: 4321, FirstOutputMs: 321,
		RequestBytes: 100_000, ResponseBytes: 20_000, EgressIP: "192.0.2.1",
		Usage: control.Usage{
			InputTokens: 12_000, OutputTokens: 900, CacheReadTokens: 80_000, CacheWriteTokens: 3_000, ReasoningTokens: 250,
			StopReason: "end_turn",
		},
		Trace: []control.Step{
			{Kind: control.StepSkipped, ConnectionID: "c0", ConnectionName: "Old", Provider: "anthropic", Reason: "cooling", Until: &until},
			{Kind: control.StepFailed, OffsetMs: 2, ConnectionID: "c1", ConnectionName: "Work", Provider: "anthropic", Reason: "rate_limit_exceeded", Status: 429, DurationMs: 80, Until: &until},
			{Kind: control.StepAnswered, OffsetMs: 83, ConnectionID: "c2", ConnectionName: "Home", Provider: "claude", Model: "claude-opus-5", Status: 200, DurationMs: 4238},
		},
	}
}

func plainActivity(id int64) control.Activity {
	return control.Activity{ID: id, At: t0, Result: "answered", Status: 200, ConnectionID: "c3", Trace: []control.Step{}}
}

func TestActivitySurvivesRestart(t *testing.T) {
	s := open(t, t.TempDir())
	s.AppendActivity(sampleActivity(1))
	s.AppendActivity(control.Activity{ID: 2, At: t0, Result: "refused", FirstOutputMs: -1})
	s = reopen(t, s)
	want := []control.Activity{{ID: 2, At: t0, Result: "refused", FirstOutputMs: -1, Trace: []control.Step{}}, sampleActivity(1)}
	if diff := cmp.Diff(want, activity(t, s, control.ActivityQuery{})); diff != "" {
		t.Error(diff)
	}
	if id, err := s.MaxActivityID(t.Context()); id != 2 || err != nil {
		t.Errorf("newest id %d, %v", id, err)
	}
}

// Whatever a client or an upstream calls things, the log gives it back.
func TestAwkwardTextsInTheLog(t *testing.T) {
	for _, text := range []string{
		"", "'", "a'b", "''); DROP TABLE proxy_logs; --", "?", "?1", "a\x00b", "a\nb", "käse", `"`, "a,b", "%", "\\", "x'41'",
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			s := open(t, t.TempDir())
			want := control.Activity{
				ID: 1, At: t0, Method: text, Path: text, Dialect: text, Client: text, Model: text, Result: text, Provider: text,
				ConnectionID: "c", ConnectionName: text, EgressIP: text, Usage: control.Usage{StopReason: text},
				Trace: []control.Step{{Kind: control.StepAnswered, ConnectionName: text, Model: text}},
			}
			s.AppendActivity(want)
			if diff := cmp.Diff([]control.Activity{want}, activity(t, s, control.ActivityQuery{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMaxActivityIDOfEmptyLog(t *testing.T) {
	if id, err := open(t, t.TempDir()).MaxActivityID(t.Context()); id != 0 || err != nil {
		t.Errorf("got %d, %v", id, err)
	}
}

func TestActivityQueries(t *testing.T) {
	s := open(t, t.TempDir())
	for id := int64(1); id <= 600; id++ {
		a := plainActivity(id)
		switch {
		case id%100 == 0:
			a = sampleActivity(id)
		case id == 150:
			a.Result, a.ConnectionID = "refused", ""
		case id == 250:
			a.Result, a.Status = "failed", 502
		case id == 350:
			a.Result, a.ConnectionID = "truncated", "c10"
		case id == 450:
			a.Result = "client_left"
		}
		s.AppendActivity(a)
	}
	for _, c := range []struct {
		name string
		q    control.ActivityQuery
		want string // ids, or how many and the first
	}{
		{"default is 100, newest first", control.ActivityQuery{}, "100 from 600"},
		{"limit", control.ActivityQuery{Limit: 2}, "600 599"},
		{"limit has a ceiling", control.ActivityQuery{Limit: 9999}, "500 from 600"},
		{"before", control.ActivityQuery{Before: 3}, "2 1"},
		{"before the first", control.ActivityQuery{Before: 1}, ""},
		{"failed only", control.ActivityQuery{FailedOnly: true}, "600 500 400 350 300 250 200 150 100"},
		{"failed only, paged", control.ActivityQuery{FailedOnly: true, Before: 350, Limit: 2}, "300 250"},
		{"a connection that failed first", control.ActivityQuery{ConnectionID: "c1"}, "600 500 400 300 200 100"},
		{"a connection that answered", control.ActivityQuery{ConnectionID: "c2", Limit: 1}, "600"},
		{"an id that begins like another", control.ActivityQuery{ConnectionID: "c10"}, "350"},
		{"skipped is not tried", control.ActivityQuery{ConnectionID: "c0"}, ""},
		{"connection and failed", control.ActivityQuery{ConnectionID: "c3", FailedOnly: true}, "250"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ids []string
			for _, a := range activity(t, s, c.q) {
				ids = append(ids, fmt.Sprint(a.ID))
			}
			got := strings.Join(ids, " ")
			if len(ids) > 20 {
				got = fmt.Sprintf("%d from %s", len(ids), ids[0])
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnreadableTraceCostsTheStoryOnly(t *testing.T) {
	s := open(t, t.TempDir())
	s.AppendActivity(sampleActivity(7))
	flush(t, s)
	if err := s.write.Exec("UPDATE proxy_logs SET trace = '[{'").Error; err != nil {
		t.Fatal(err)
	}
	got := activity(t, s, control.ActivityQuery{})
	if len(got) != 1 || got[0].ID != 7 || got[0].Trace == nil {
		t.Errorf("got %+v", got)
	}
}

// Rows are written by position: the columns must stand in the order in which
// the values do.
func TestActivityColumnsKeepTheirOrder(t *testing.T) {
	s := open(t, t.TempDir())
	var names []string
	if err := s.read.Raw("SELECT name FROM pragma_table_info('proxy_logs') ORDER BY cid").Scan(&names).Error; err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("id timestamp method path dialect client model stream status result provider connection_id " +
		"connection_name failed_over duration_ms first_output_ms request_bytes response_bytes egress_ip tried trace " +
		"input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens stop_reason combo")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// A trace comes back as it was, in the short form as in the long one.
func TestTraces(t *testing.T) {
	row := control.Activity{ConnectionID: "c1", ConnectionName: "Work", Provider: "claude", Model: "m"}
	only := control.Step{
		Kind: control.StepAnswered, OffsetMs: 3, ConnectionID: "c1", ConnectionName: "Work", Provider: "claude", Model: "m", Status: 200, DurationMs: 12,
	}
	with := func(change func(*control.Step)) []control.Step {
		s := only
		change(&s)
		return []control.Step{s}
	}
	for _, c := range []struct {
		name   string
		trace  []control.Step
		stored string // empty: the JSON of the steps
	}{
		{"none", []control.Step{}, "[]"},
		{"one that answered", []control.Step{only}, "[3,200,12]"},
		{"another model's name", with(func(s *control.Step) { s.Model = "n" }), ""},
		{"another connection", with(func(s *control.Step) { s.ConnectionID = "c2" }), ""},
		{"a failure", with(func(s *control.Step) { s.Kind = control.StepFailed }), ""},
		{"a reason", with(func(s *control.Step) { s.Reason = "x" }), ""},
		{"an end", with(func(s *control.Step) { at := t0; s.Until = &at }), ""},
		{"no connection at all", []control.Step{{Kind: control.StepLeft}}, ""},
		{"two", []control.Step{only, only}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := row
			a.Trace = c.trace
			stored, err := traceJSON(&a)
			if err != nil {
				t.Fatal(err)
			}
			if c.stored != "" && stored != c.stored || c.stored == "" && !strings.HasPrefix(stored, "[{") {
				t.Errorf("stored %s", stored)
			}
			if diff := cmp.Diff(c.trace, readTrace(&a, stored)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, broken := range []string{"", "{", "[1]", "[1,2,3,4]", "[1.5,2,3]", "null", "[{"} {
		if steps := readTrace(&row, broken); steps == nil || len(steps) > 0 {
			t.Errorf("%q was read as %v", broken, steps)
		}
	}
}

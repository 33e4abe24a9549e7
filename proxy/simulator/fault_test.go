package simulator

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
)

func TestFaultsOfThePanel(t *testing.T) {
	tests := []struct {
		fault   Fault
		dialect dialect.Dialect
		status  int    // zero: no response
		broken  bool   // the body does not end cleanly
		find    string // in the body
		header  string // Retry-After
	}{
		{fault: Fault{Kind: FaultNone}, status: 200, find: "message_stop"},
		{fault: Fault{Kind: FaultRateLimit, RetryAfterSeconds: 60}, status: 429, find: "rate_limit_error", header: "60"},
		{fault: Fault{Kind: FaultRateLimit}, status: 429, find: "rate_limit_error"},
		{fault: Fault{Kind: FaultOverloaded}, status: 529, find: "overloaded_error"},
		{fault: Fault{Kind: FaultServerError}, status: 503, find: "api_error"},
		{fault: Fault{Kind: FaultAuth}, status: 401, find: "authentication_error"},
		{fault: Fault{Kind: FaultNoCredit}, status: 400, find: "credit balance is too low"},
		{fault: Fault{Kind: FaultNoCredit}, dialect: dialect.Chat, status: 429, find: "insufficient_quota"},
		{fault: Fault{Kind: FaultReset}},
		{fault: Fault{Kind: FaultEmpty}, status: 200},
		{fault: Fault{Kind: FaultErrorEvent}, status: 200, find: "event: error"},
		{fault: Fault{Kind: FaultErrorEvent}, dialect: dialect.Responses, status: 200, find: "event: response.failed"},
		{fault: Fault{Kind: FaultCut}, status: 200, broken: true, find: "the "},
	}
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	for _, tt := range tests {
		if tt.dialect == nil {
			tt.dialect = dialect.Anthropic
		}
		t.Run(tt.fault.Kind+" "+string(tt.dialect.Traits().Name), func(t *testing.T) {
			if err := alpha.Fault(tt.fault); err != nil {
				t.Fatal(err)
			}
			got := ask{dialect: tt.dialect, stream: true}.send(t, c, alpha)
			if tt.status == 0 {
				if got.err == nil {
					t.Fatalf("answered %d", got.StatusCode)
				}
				return
			}
			if got.Response == nil || got.StatusCode != tt.status || (got.err != nil) != tt.broken {
				t.Fatalf("%v, %v", got.Response, got.err)
			}
			if !strings.Contains(string(got.body), tt.find) || tt.find == "" && len(got.body) > 0 {
				t.Errorf("body %s", got.body)
			}
			if v := got.Header.Get("Retry-After"); v != tt.header {
				t.Errorf("Retry-After %q", v)
			}
		})
	}
}

// Every kind that is offered hurts in its own way, and only "none" does not.
func TestEveryFaultKindIsPlayed(t *testing.T) {
	seen := map[string]string{}
	for _, kind := range FaultKinds[1:] {
		f := Fault{Kind: kind}
		st := f.step(&request{dialect: dialect.Anthropic})
		if err := st.Validate(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		key := st.String() + time.Duration(st.Pace).String()
		if len(st.Stalls) > 0 {
			key += "stall"
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%s is the same as %s", kind, other)
		}
		seen[key] = kind
	}
}

func TestSlowAndStalledFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := startInBubble(t)
		alpha := s.Account("alpha")
		if err := alpha.Fault(Fault{Kind: FaultSlow}); err != nil {
			t.Fatal(err)
		}
		headers, lines, err := arrivals(t, c, alpha, ask{dialect: dialect.Anthropic, stream: true})
		if err != nil || headers != slowStart || first(lines, "message_stop") != slowStart+6*slowPace {
			t.Errorf("headers %v, end %v, %v", headers, first(lines, "message_stop"), err)
		}
		if err := alpha.Fault(Fault{Kind: FaultStall}); err != nil {
			t.Fatal(err)
		}
		c.Timeout = time.Hour
		_, lines, err = arrivals(t, c, alpha, ask{dialect: dialect.Anthropic, stream: true})
		if err == nil || first(lines, "message_start") != 0 || count(lines, "delta") != 0 {
			t.Errorf("stalled: %v, %v", lines, err)
		}
	})
}

func TestCountedFaultsEndByThemselves(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha").Script(Status(418))
	if err := alpha.Fault(Fault{Kind: FaultAuth, Count: 2}); err != nil {
		t.Fatal(err)
	}
	status, _ := get(t, c, alpha.BaseURL()+"/models", nil) // hit, but not counted
	got := []int{status}
	for range 4 {
		got = append(got, ask{dialect: dialect.Chat}.send(t, c, alpha).StatusCode)
		if len(got) == 2 && alpha.CurrentFault() != (Fault{Kind: FaultAuth, Count: 1}) {
			t.Errorf("left %+v", alpha.CurrentFault())
		}
	}
	status, _ = get(t, c, alpha.BaseURL()+"/models", nil)
	got = append(got, status)
	if want := []int{401, 401, 401, 418, 200, 200}; !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	if f := alpha.CurrentFault(); f.Kind != FaultNone {
		t.Errorf("left %+v", f)
	}
}

func TestFaultsOfATurnLeaveTheOtherRoutesAlone(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	for kind, want := range map[string]int{
		FaultRateLimit: 200, FaultOverloaded: 200, FaultNoCredit: 200, FaultCut: 200, FaultSlow: 200,
		FaultAuth: 401, FaultServerError: 503,
	} {
		if err := alpha.Fault(Fault{Kind: kind}); err != nil {
			t.Fatal(err)
		}
		if status, body := get(t, c, alpha.BaseURL()+"/models", nil); status != want || want == 200 && !gjson.ValidBytes(body) {
			t.Errorf("%s: %d", kind, status)
		}
	}
}

func TestUnknownFaultsAreRefused(t *testing.T) {
	alpha := New(Options{}).Account("alpha")
	if err := alpha.Fault(Fault{Kind: FaultCut}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Fault{{Kind: "flood"}, {Kind: FaultCut, Count: -1}, {Kind: FaultRateLimit, RetryAfterSeconds: -1}} {
		if err := alpha.Fault(f); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	if f := alpha.CurrentFault(); f.Kind != FaultCut {
		t.Errorf("changed to %+v", f)
	}
	if err := alpha.Fault(Fault{}); err != nil || alpha.CurrentFault().Kind != FaultNone {
		t.Errorf("cleared to %+v, %v", alpha.CurrentFault(), err)
	}
}

// The documents that faults give are those of the dialect.
func TestErrorEventOfADocument(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	if err := alpha.Fault(Fault{Kind: FaultErrorEvent}); err != nil {
		t.Fatal(err)
	}
	got := ask{dialect: dialect.Chat}.send(t, c, alpha)
	if got.StatusCode != http.StatusOK || gjson.GetBytes(got.body, "error.code").Str != "server_is_overloaded" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

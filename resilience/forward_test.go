package resilience

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
)

// at names the failure that was chosen, -1 for none.
func at(list []Failure, f *Failure) int {
	for i := range list {
		if f == &list[i] {
			return i
		}
	}
	return -1
}

func TestForwardable(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failures []Failure
		want     int
		combos   int // the same for a combo
	}{
		{"nothing failed", nil, -1, -1},
		{"a refused request", []Failure{refused(400)}, 0, 0},
		{"the first refused request", []Failure{limited(), refused(400), refused(422)}, 1, -1},
		{"all refused the request", []Failure{refused(400), refused(422)}, 0, 1},
		{"an unknown model", []Failure{broken(404)}, 0, 0},
		{"a withdrawn model", []Failure{broken(410)}, 0, 0},
		{"without an upstream's answer", []Failure{refused(400, silent)}, -1, -1},
		{"the client's own login", []Failure{limited(), broken(401, ownLogin)}, 1, 1},
		{"the client's own login, another tried after it", []Failure{broken(401, ownLogin), limited()}, -1, -1},
		{"a stored key", []Failure{broken(401)}, -1, -1},
		{"our own deadline", []Failure{refused(504, scope(outcome.ScopeLocal))}, -1, -1},
		{"a rate limit", []Failure{limited()}, -1, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := at(tt.failures, Forwardable(tt.failures)); got != tt.want {
				t.Errorf("single model: got %d, want %d", got, tt.want)
			}
			if got := at(tt.failures, ForwardableFromCombo(tt.failures, NotStopped)); got != tt.combos {
				t.Errorf("combo: got %d, want %d", got, tt.combos)
			}
		})
	}
	t.Run("not after a ceiling", func(t *testing.T) {
		list := []Failure{refused(400)}
		for stop, want := range map[Stop]int{StopAttempts: -1, StopTimeout: -1, StopRequest: 0, StopProtected: 0, StopIdentical: 0} {
			if got := at(list, ForwardableFromCombo(list, stop)); got != want {
				t.Errorf("%s: got %d, want %d", stop, got, want)
			}
		}
	})
}

func TestSubscriptionWalls(t *testing.T) {
	wall := limited(ownLogin, header("Anthropic-Ratelimit-Unified-Status", "rejected"))
	for _, tt := range []struct {
		name     string
		failures []Failure
		walls    int
		ok       bool
	}{
		{"none failed", nil, 0, true},
		{"one", []Failure{wall}, 1, true},
		{"besides other limits", []Failure{limited(), wall, wall}, 2, true},
		{"besides a fault", []Failure{wall, broken(500), wall}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			walls, ok := SubscriptionWalls(tt.failures)
			if len(walls) != tt.walls || ok != tt.ok {
				t.Errorf("got %d, %v", len(walls), ok)
			}
		})
	}
	if ForwardsWall(time.Minute) || !ForwardsWall(time.Hour) {
		t.Error("only a wall that lasts is forwarded")
	}
}

func TestMerge(t *testing.T) {
	timeout := broken(504, code(combo.CodeTargetTimeout))
	quota := broken(429, reason(outcome.ReasonQuota))
	empty := broken(200, reason(outcome.ReasonEmptyAnswer))
	for _, tt := range []struct {
		name     string
		failures []Failure
		want     Merged
	}{
		{"one kind keeps its status", []Failure{broken(500), broken(503)}, Merged{Status: 503, Code: "server_error"}},
		{"limits", []Failure{limited(), limited()}, Merged{Status: 429, Code: "rate_limit_exceeded", LimitOnly: true}},
		{"quota", []Failure{quota, quota}, Merged{Status: 429, Code: "quota_exhausted", LimitOnly: true, QuotaOnly: true}},
		{"quota and a limit", []Failure{quota, limited()}, Merged{Status: 429, Code: "rate_limit_exceeded", LimitOnly: true}},
		{"a timeout among others", []Failure{timeout, limited()}, Merged{Status: 504, Code: "rate_limit_exceeded"}},
		{"several kinds", []Failure{limited(), broken(500)}, Merged{Status: 502, Code: "server_error"}},
		{"a refused key (ruling 43)", []Failure{broken(401, reason(outcome.ReasonAuth))}, Merged{Status: 502, Code: "auth_error"}},
		{"empty answers", []Failure{empty}, Merged{Status: 502, Code: "empty_answer"}},
		{"overload (ruling 41)", []Failure{broken(529)}, Merged{Status: 503, Code: "server_error"}},
		{"no status", []Failure{broken(0)}, Merged{Status: 502, Code: "server_error"}},
		{"a coded failure", []Failure{timeout}, Merged{Status: 504, Code: combo.CodeTargetTimeout}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Merge(tt.failures); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Whatever failed: no refused key and no 529 is merged into the answer, the
// status is an error, and what is forwarded was an upstream's answer.
func TestWhatTheClientGetsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Failure
		for range rapid.IntRange(1, 4).Draw(t, "failures") {
			list = append(list, anyFailure(t))
		}
		if m := Merge(list); m.Status < 400 || m.Status > 599 || AuthStatus(m.Status) || m.Status == 529 {
			t.Fatalf("status %d", m.Status)
		}
		for _, f := range []*Failure{Forwardable(list), ForwardableFromCombo(list, NotStopped)} {
			if f != nil && !f.Answered() {
				t.Fatalf("forwarded without an answer: %+v", f)
			}
			if f != nil && AuthStatus(f.Outcome.Status) && !f.Passthrough && !f.RefusesRequest() {
				t.Fatalf("forwarded a refused key: %+v", f)
			}
		}
	})
}

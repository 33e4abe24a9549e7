package resilience

import (
	"testing"

	"breakwater/resilience/classify"
)

// Case 180: which broken calls another one to the same target may mend.
func TestReopenable(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    Break
		want bool
	}{
		{"a broken connection", Break{Kind: classify.Reset, Connection: true}, true},
		{"nothing listens", Break{Kind: classify.Refused, Connection: true}, true},
		{"a certificate that is not trusted", Break{Kind: classify.TLS, Final: true, Connection: true}, false},
		{"a client that left", Break{Kind: classify.Reset, Final: true, Connection: true}, false},
		{"an unknown error", Break{Kind: classify.Reset}, false},
		{"a stalled stream", Break{Kind: classify.Stalled, Overdue: true, Final: true}, true},
		{"our own deadline", Break{Kind: classify.LocalDeadline, Overdue: true, Connection: true}, false},
	} {
		t.Run("case 180 "+tt.name, func(t *testing.T) {
			if got := tt.b.Reopenable(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReopening(t *testing.T) {
	cut := Break{Connection: true}
	for _, tt := range []struct {
		name  string
		r     Reopening
		b     Break
		slept bool
		want  bool
	}{
		{"switched on", Reopening{Enabled: true}, cut, false, true},
		{"switched off", Reopening{}, cut, false, false},
		{"an error it cannot mend", Reopening{Enabled: true}, Break{}, false, false},
		{"used up", Reopening{Enabled: true, Made: maxReopened}, cut, false, false},
		{"the last one", Reopening{Enabled: true, Made: maxReopened - 1}, cut, false, true},
		{"a probe", Reopening{Enabled: true, Probe: true}, cut, false, false},
		{"after a sleep, whatever the switch says", Reopening{}, Break{}, true, true},
		{"a second sleep", Reopening{Woken: true}, Break{}, true, false},
		{"a probe after a sleep", Reopening{Probe: true}, cut, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.r.Asks(tt.b, tt.slept); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
	t.Run("a sleep counts once", func(t *testing.T) {
		var r Reopening
		if !r.Asks(Break{}, true) || r.Asks(Break{}, true) {
			t.Errorf("%+v", r)
		}
	})
}

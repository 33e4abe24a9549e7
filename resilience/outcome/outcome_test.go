package outcome

import "testing"

func TestTrips(t *testing.T) {
	for status, want := range map[int]bool{
		408: true, 500: true, 502: true, 503: true, 504: true,
		200: false, 400: false, 401: false, 403: false, 404: false, 429: false, 501: false, 529: false,
	} {
		o := Outcome{Class: Failure, Status: status}
		if got := o.Trips(); got != want {
			t.Errorf("case 45 status %d: trips = %v", status, got)
		}
		o.SkipBreaker = true
		if o.Trips() {
			t.Errorf("status %d trips although the breaker is to be skipped", status)
		}
		for _, class := range []Class{Neutral, Success} {
			if (Outcome{Class: class, Status: status}).Trips() {
				t.Errorf("status %d trips as class %d", status, class)
			}
		}
	}
}

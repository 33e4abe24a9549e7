package db

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
)

func TestLastEgress(t *testing.T) {
	s := open(t, t.TempDir())
	row := func(id int64, conn, address string, ago time.Duration) {
		s.AppendActivity(control.Activity{ID: id, At: t0.Add(-ago), ConnectionID: conn, EgressIP: address})
	}
	row(1, "a", "192.0.2.1", 30*time.Hour)
	row(2, "b", "192.0.2.1", 3*time.Hour)
	row(3, "b", "192.0.2.2", 2*time.Hour)
	row(4, "b", "", time.Hour)
	row(5, "c", "proxy.example:3128", 0)
	row(6, "", "192.0.2.9", 0)
	got, err := s.LastEgress(t.Context(), t0.Add(-24*time.Hour))
	want := []control.EgressSeen{
		{ConnectionID: "b", Address: "192.0.2.2", At: t0.Add(-2 * time.Hour)},
		{ConnectionID: "c", Address: "proxy.example:3128", At: t0},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

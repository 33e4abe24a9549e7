package view

import (
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestLeaseRowsLeaveOutWhatIsOver(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.Local)
	list := []control.HeldLease{{ID: "over", Until: now}, {ID: "l", ConnectionID: "c", Since: now.Add(-2 * time.Minute), RenewedAt: now, Until: now.Add(2 * time.Hour)}}
	rows := LeaseRows(list, now)
	if len(rows) != 1 || rows[0].ID != "l" || rows[0].Connection != "c" || rows[0].Since != "2 min ago" || rows[0].Until != "until 14:00" || rows[0].HolderMore != "" {
		t.Errorf("%+v", rows)
	}
}

func TestHeldChangesWithTheHolders(t *testing.T) {
	now := time.Now()
	a := control.Snapshot{Connections: []control.Connection{{ID: "a"}, {ID: "b"}}}
	b := control.Snapshot{Connections: []control.Connection{{ID: "a"}, {ID: "b", LeasedUntil: &now}}}
	if Held(a) == Held(b) {
		t.Error(Held(a), Held(b))
	}
}

func TestListeningAndTunnel(t *testing.T) {
	if list, port := Listening("http://127.0.0.1:8080"); len(list) != 2 || list[1] != "[::1]:8080" || TunnelCommand(port) != "ssh -N -L 8080:127.0.0.1:8080 user@host" {
		t.Error(list, port)
	}
	for _, s := range []string{"", "::", "http://host"} {
		if list, port := Listening(s); list != nil || port != "" {
			t.Errorf("%q listens at %v", s, list)
		}
	}
	if got := hostOf("no url"); got != "no url" {
		t.Error(got)
	}
}

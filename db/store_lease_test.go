package db

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/resilience/lease"
)

func owner(n int) string { return lease.Hash(fmt.Sprintf("vlo_%043d", n)) }

func change(t testing.TB, s *Store, op lease.Op, now time.Time) lease.Outcome {
	t.Helper()
	out, err := s.ChangeLease(t.Context(), op, now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func acquire(id string, n int, conn string) lease.Op {
	return lease.Op{Action: lease.Acquire, ID: id, OwnerHash: owner(n), KeyID: "k", ConnectionID: conn, Provider: "p"}
}

func TestLeasesAreStored(t *testing.T) {
	s := open(t, t.TempDir())
	now := t0.UTC().Truncate(time.Millisecond)
	if out := change(t, s, acquire("1", 1, "c1"), now); out.Result != lease.Acquired || out.Lease.Generation != 1 {
		t.Fatalf("%+v", out)
	}
	if out := change(t, s, acquire("2", 2, "c1"), now); out.Result != lease.ConnectionBusy || !out.Lease.ExpiresAt.Equal(now.Add(lease.DefaultTTL)) {
		t.Fatalf("case 128: %+v", out)
	}
	s = reopen(t, s)
	list, err := s.ActiveLeases(t.Context(), now)
	if err != nil || len(list) != 1 || list[0].OwnerHash != owner(1) || !list[0].AcquiredAt.Equal(now) || list[0].KeyID != "k" {
		t.Fatalf("after a restart: %+v %v", list, err)
	}
	// case 130: a lease that ran out while nobody looked gives way.
	later := now.Add(lease.DefaultTTL)
	if out := change(t, s, acquire("3", 2, "c1"), later); out.Result != lease.Acquired {
		t.Fatalf("case 130: %+v", out)
	}
	if n := count(t, s, "SELECT count(*) FROM exclusive_connection_leases WHERE id = '1' AND state = 'EXPIRED' AND end_reason = 'TTL_EXPIRED'"); n != 1 {
		t.Error("case 130: the old row was not ended")
	}
	renew := lease.Op{Action: lease.Renew, OwnerHash: owner(1), KeyID: "k", Generation: 1}
	if out := change(t, s, renew, later); out.Result != lease.Stale {
		t.Errorf("case 131: %+v", out)
	}
	release := lease.Op{Action: lease.Release, OwnerHash: owner(2), KeyID: "k", Generation: 1}
	for range 2 {
		if out := change(t, s, release, later); out.Result != lease.Ended || out.Lease.EndReason != lease.OwnerExit {
			t.Errorf("case 132: %+v", out)
		}
	}
	if out := change(t, s, acquire("4", 2, "c2"), later); out.Lease.Generation != 2 {
		t.Errorf("case 129: %+v", out)
	}
	check := lease.Op{Action: lease.Check, OwnerHash: owner(2), KeyID: "k", Generation: 2, ConnectionID: "c2"}
	if out, err := s.CheckLease(t.Context(), check, later); err != nil || out.Result != lease.Valid {
		t.Errorf("fence: %+v %v", out, err)
	}
	if _, err := s.ActiveLeases(t.Context(), later.Add(keptLeases+time.Second)); err != nil || count(t, s, "SELECT count(*) FROM exclusive_connection_leases") != 1 {
		t.Errorf("old rows are kept: %v", err)
	}
}

// The file itself refuses what the rules forbid, whoever writes to it.
func TestTheSchemaHoldsTheRules(t *testing.T) {
	s := open(t, t.TempDir())
	insert := func(id, hash, conn, state, ended string, gen int) error {
		return s.write.Exec("INSERT INTO exclusive_connection_leases VALUES (?,?,'k','p',?,?,?,1,1,2,"+ended+")", id, hash, conn, gen, state).Error
	}
	const over = "3, 'OWNER_EXIT'"
	const runs = "NULL, NULL"
	if err := insert("1", owner(1), "c1", "ACTIVE", runs, 1); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a second lease of the owner":      insert("2", owner(1), "c2", "ACTIVE", runs, 2),
		"a second lease of the connection": insert("3", owner(2), "c1", "ACTIVE", runs, 1),
		"an unknown state":                 insert("4", owner(3), "c3", "HELD", runs, 1),
		"generation 0":                     insert("5", owner(3), "c3", "ACTIVE", runs, 0),
		"a raw owner":                      insert("6", "vlo_"+strings.Repeat("a", 60), "c3", "ACTIVE", runs, 1),
		"an end of what is active":         insert("7", owner(3), "c3", "ACTIVE", over, 1),
		"no end of what is over":           insert("8", owner(3), "c3", "RELEASED", runs, 1),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := insert("9", owner(1), "c1", "RELEASED", over, 1); err != nil {
		t.Errorf("an ended lease beside an active one: %v", err)
	}
}

func TestConcurrentAcquiresHaveOneWinner(t *testing.T) {
	t.Run("case 142 two acquires, one connection", func(t *testing.T) {
		s := open(t, t.TempDir())
		for round := range 20 {
			conn := fmt.Sprint("c", round)
			var all sync.WaitGroup
			won := make(chan int, 8)
			for n := range 8 {
				all.Go(func() {
					out, err := s.ChangeLease(context.Background(), acquire(fmt.Sprint(round, "-", n), 100*round+n, conn), t0)
					if err != nil {
						t.Error(err)
					}
					if out.Result == lease.Acquired {
						won <- n
					}
				})
			}
			all.Wait()
			if len(won) != 1 {
				t.Fatalf("%d owners of one connection", len(won))
			}
		}
	})
}

func TestOwnersAreNotInTheFile(t *testing.T) {
	t.Run("case 144 only a digest", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		raw := "vlo_" + strings.Repeat("Secret_Owner-0123456789", 2)[:43]
		op := acquire("1", 1, "c1")
		op.OwnerHash = lease.Hash(raw)
		change(t, s, op, t0)
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text := contentOf(t, filepath.Join(dir, f.Name())); strings.Contains(text, raw[4:14]) {
				t.Errorf("the owner is in %s", f.Name())
			} else if f.Name() == FileName+"-wal" && !strings.Contains(text, op.OwnerHash) {
				t.Error("its digest is nowhere")
			}
		}
	})
}

package db

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"breakwater/resilience"
	"breakwater/resilience/lease"
)

// childEnv makes this test binary the program that is killed.
const childEnv = "BREAKWATER_DB_TEST_CHILD"

// writeUntilKilled is the child: it prints every write after it returned.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, testOptions(dir))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if err := s.SaveConnection(ctx, record(id)); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("connection", id)
		if err := s.SaveSetting(ctx, "last", []byte(`"`+id+`"`)); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("setting", id)
		op := lease.Op{Action: lease.Acquire, ID: id, OwnerHash: lease.Hash(id), KeyID: "k", ConnectionID: id, Provider: "p", TTL: lease.MaxTTL}
		if out, err := s.ChangeLease(ctx, op, t0); err != nil || out.Result != lease.Acquired {
			fmt.Println("error", out.Result, err)
			return
		}
		fmt.Println("lease", id)
		// Background writes go on meanwhile, as they do in the real program.
		s.SaveConnectionState(resilience.ConnectionState{ID: id, TestStatus: "unavailable"})
		s.AppendActivity(sampleActivity(int64(i + 1)))
	}
}

// TestKillLosesNothingPrinted kills the writing program at random moments of
// its first 200 writes, the first times while it still makes the file.
func TestKillLosesNothingPrinted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	promised := map[string]bool{}
	for round := range 10 {
		setting := killAfter(t, self, dir, rand.IntN(min(25*round, 200)+1), promised)
		s, err := Open(t.Context(), testOptions(dir))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkPromises(t, s, promised, setting)
		// Every other round leaves the file as the killed program did.
		if round%2 == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		s.writer.close()
		s.disconnect()
	}
	if len(promised) == 0 {
		t.Error("no round wrote anything")
	}
}

// killAfter runs the child until it has printed n lines, kills it, and returns
// the last setting it printed.
func killAfter(t *testing.T, self, dir string, n int, promised map[string]bool) (setting string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	kill := func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	if n == 0 {
		kill()
	}
	for i := 1; lines.Scan(); i++ {
		kind, id, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "connection", "lease":
			promised[kind+" "+id] = true
		case "setting":
			setting = id
		case "error":
			t.Errorf("child: %s", id)
		}
		if i == n {
			kill()
		}
	}
	_ = cmd.Wait() // killed: always an error
	return setting
}

func checkPromises(t *testing.T, s *Store, promised map[string]bool, setting string) {
	t.Helper()
	have := map[string]bool{}
	for _, r := range connections(t, s) {
		have["connection "+r.ID] = true
	}
	held, err := s.ActiveLeases(t.Context(), t0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range held {
		have["lease "+l.ConnectionID] = true
	}
	for id := range promised {
		if !have[id] {
			t.Errorf("%s was printed and is gone", id)
		}
	}
	if setting == "" {
		return
	}
	// One later write may have finished without being printed.
	v, ok, err := s.Setting(t.Context(), "last")
	if err != nil || !ok {
		t.Fatalf("setting: %v %v", ok, err)
	}
	if serial(t, string(v)) < serial(t, setting) {
		t.Errorf("setting %s, printed %s", v, setting)
	}
}

func serial(t *testing.T, id string) (n int) {
	t.Helper()
	_, after, _ := strings.Cut(strings.Trim(id, `"`), "-")
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

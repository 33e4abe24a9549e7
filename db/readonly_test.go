package db

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"breakwater/proxy/control"
)

// A database that can be read but not written, as on a disk that was mounted
// read-only after an error: what is there is served, changes are refused,
// losses are counted and shown, and it goes on when it can be written again.
func TestReadOnly(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a")
	pragma(t, s, "query_only = 1")
	s.AppendActivity(sampleActivity(1))
	flush(t, s)
	if err := s.SaveSetting(t.Context(), "k", []byte("1")); err == nil {
		t.Error("a setting was accepted that cannot be kept")
	}
	if err := s.SaveConnection(t.Context(), record("b")); err == nil {
		t.Error("a connection was accepted that cannot be kept")
	}
	if list := connections(t, s); len(list) != 1 {
		t.Errorf("%d connections can be read", len(list))
	}
	if n := s.Notices(); s.Lost() != 1 || len(n) != 2 || n[0].Code != "read_only" || n[1].Code != "activity_lost" || s.Damaged() != nil {
		t.Errorf("lost %d, notices %+v, damaged %v", s.Lost(), n, s.Damaged())
	}
	pragma(t, s, "query_only = 0")
	s.AppendActivity(sampleActivity(2))
	if rows := activity(t, s, control.ActivityQuery{}); len(rows) != 1 || rows[0].ID != 2 {
		t.Errorf("afterwards %+v", rows)
	}
	if n := s.Notices(); len(n) != 1 || n[0].Code != "activity_lost" {
		t.Errorf("afterwards the notices are %+v", n)
	}
}

// Case P52: what finds no room is refused with the reason, and works when there
// is room again.
func TestNoRoom(t *testing.T) {
	t.Run("P52 no room", func(t *testing.T) {
		told := make(chan struct{}, 8)
		s := open(t, t.TempDir())
		s.OnNotice(func() { told <- struct{}{} })
		pages := count(t, s, "SELECT page_count FROM pragma_page_count")
		pragma(t, s, fmt.Sprintf("max_page_count = %d", pages))
		long := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		if err := s.SaveSetting(t.Context(), "k", long); !errors.Is(err, control.ErrDiskFull) {
			t.Errorf("refused with %v", err)
		}
		<-told
		pragma(t, s, "max_page_count = 100000")
		if err := s.SaveSetting(t.Context(), "k", long); err != nil {
			t.Errorf("with room again: %v", err)
		}
		<-told
		if n := s.Notices(); len(n) != 0 {
			t.Errorf("still shown: %+v", n)
		}
		if err := spaceless(&os.PathError{Op: "write", Path: "secrets", Err: syscall.ENOSPC}); !errors.Is(err, control.ErrDiskFull) {
			t.Errorf("a file without room: %v", err)
		}
	})
}

// The log of activity stays under a size, however long its rows are.
func TestActivityStaysUnderItsSize(t *testing.T) {
	s := open(t, t.TempDir())
	s.writer.size.Store(1 << 20)
	long := sampleActivity(1)
	for range 40 {
		long.Trace = append(long.Trace, control.Step{Kind: control.StepFailed, Reason: "server_error", ConnectionName: "a rather long name of a connection"})
	}
	for id := int64(1); id <= 600; id++ {
		long.ID = id
		s.AppendActivity(long)
		if id%150 == 0 {
			flush(t, s)
		}
	}
	s.SetActivityLimit(10_000)
	waitFor(t, func() bool {
		flush(t, s)
		return count(t, s, "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)") < 3<<20
	})
	rows := activity(t, s, control.ActivityQuery{Limit: 1})
	if len(rows) != 1 || rows[0].ID != 600 {
		t.Errorf("the newest row is %+v", rows)
	}
}

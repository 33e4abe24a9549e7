package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/control"
)

// shelf is a store of answers that counts how often one is encoded.
type shelf struct {
	*answers
	state   atomic.Uint64
	encoded atomic.Int64
}

func newShelf() *shelf {
	s := &shelf{}
	s.answers = newAnswers(s.state.Load, time.Now)
	return s
}

func (s *shelf) read(t *testing.T, key string) {
	t.Helper()
	out, err := s.get(t.Context(), key, func(context.Context) (encoded, error) {
		s.encoded.Add(1)
		<-time.After(20 * time.Millisecond)
		return encoded{status: http.StatusOK, data: []byte(key)}, nil
	})
	if err != nil || string(out.data) != key {
		t.Errorf("%s: %q, %v", key, out.data, err)
	}
}

func TestAnAnswerIsEncodedOncePerState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		for _, step := range []struct {
			name   string
			before func()
			want   int64
		}{
			{"the first readers", func() {}, 1},
			{"the same state", func() {}, 1},
			{"a change of state", func() { s.state.Add(1) }, 2},
			{"a write", s.wrote, 3},
			{"an answer grown old", func() { <-time.After(answerFor) }, 4},
		} {
			step.before()
			for range 10 {
				go s.read(t, "a")
			}
			s.read(t, "a")
			synctest.Wait()
			if n := s.encoded.Load(); n != step.want {
				t.Errorf("%s: encoded %d times, want %d", step.name, n, step.want)
			}
		}
		<-time.After(3 * answersFor)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sweep != nil || len(s.kept) > 0 {
			t.Errorf("%d answers are kept for nobody", len(s.kept))
		}
	})
}

// Readers of different answers take turns, up to a bound of their patience.
func TestOneAnswerIsEncodedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		start := time.Now()
		for _, key := range []string{"a", "b", "c", "d"} {
			go s.read(t, key)
		}
		synctest.Wait()
		for range 4 {
			<-time.After(20 * time.Millisecond)
			synctest.Wait()
		}
		if n := s.encoded.Load(); n != 4 || time.Since(start) != 80*time.Millisecond || len(s.turn) != 0 {
			t.Errorf("%d after %v", n, time.Since(start))
		}
		s.turn <- struct{}{} // somebody whose disk hangs
		start = time.Now()
		s.read(t, "e")
		if d := time.Since(start); d != turnWait+20*time.Millisecond {
			t.Errorf("a reader waited %v, want %v", d, turnWait)
		}
		<-time.After(3 * answersFor)
	})
}

func TestFailuresAndGiantsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		broken := errors.New("broken")
		calls := 0
		for range 3 {
			_, err := s.get(t.Context(), "a", func(context.Context) (encoded, error) { calls++; return encoded{}, broken })
			if !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			_, err = s.get(t.Context(), "b", func(context.Context) (encoded, error) {
				calls++
				return encoded{data: make([]byte, maxAnswer+1)}, nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if calls != 6 {
			t.Errorf("%d calls, want 6", calls)
		}
		long := strings.Repeat("k", maxKey+1)
		s.read(t, long)
		if s.kept[long] != nil {
			t.Error("an answer to a giant address is kept")
		}
		for i := range maxAnswers + 10 {
			s.read(t, strings.Repeat("x", i))
		}
		if len(s.kept) > maxAnswers {
			t.Errorf("%d answers are kept", len(s.kept))
		}
		<-time.After(3 * answersFor)
	})
}

// A panic while encoding leaves nobody waiting.
func TestAPanicIsAnErrorForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		go func() {
			defer func() { _ = recover() }()
			_, _ = s.get(t.Context(), "a", func(context.Context) (encoded, error) {
				<-time.After(time.Second)
				panic("encoding")
			})
		}()
		synctest.Wait()
		if _, err := s.get(t.Context(), "a", nil); !errors.Is(err, errInternal) {
			t.Errorf("got %v", err)
		}
		<-time.After(3 * answersFor)
	})
}

func TestUnchangedAnswersAreNotSentAgain(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/api/catalog", "/api/settings", "/api/keys", "/api/resilience", "/api/openapi.json"} {
		first := b.send(t, scenario{method: "GET", path: path})
		tag := first.header.Get("ETag")
		if first.status != http.StatusOK || tag == "" {
			t.Fatalf("%s: %d with the tag %q", path, first.status, tag)
		}
		for match, want := range map[string]int{tag: 304, "*": 304, `"x", W/` + tag: 304, `"x"`: 200} {
			got := b.send(t, scenario{method: "GET", path: path, header: map[string]string{"If-None-Match": match}})
			if got.status != want || (want == 304) != (got.body == "") || got.header.Get("ETag") != tag {
				t.Errorf("%s with %s: %d %q", path, match, got.status, got.body)
			}
		}
		stranger := b.send(t, scenario{method: "GET", path: path, header: map[string]string{"If-None-Match": tag, "Authorization": ""}})
		if stranger.status != http.StatusUnauthorized {
			t.Errorf("%s: a stranger gets %d", path, stranger.status)
		}
	}
	b.fake.SetLeases(control.HeldLease{ID: "L"})
	tag := b.send(t, scenario{method: "GET", path: "/api/session-leases"}).header.Get("ETag")
	b.fake.SetLeases()
	if got := b.send(t, scenario{method: "GET", path: "/api/session-leases", header: map[string]string{"If-None-Match": tag}}); got.status != 200 {
		t.Errorf("a changed list gets %d", got.status)
	}
}

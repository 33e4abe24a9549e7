//go:build linux

package desktop

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// witness notes how things stood, over the API, when each notification came.
type witness struct {
	p    *program
	t    *testing.T
	mu   sync.Mutex
	seen []sighting
}

type sighting struct {
	note Notification
	at   time.Time
	snap control.Snapshot
}

// watch has every notification witnessed. The call of the program waits for it,
// so nothing is sent in between.
func watch(t *testing.T, p *program, notes *Notifications) *witness {
	w := &witness{p: p, t: t}
	notes.Seen(func(n Notification) {
		s, err := p.api.Snapshot(t.Context())
		if err != nil {
			t.Errorf("state at %v: %v", n, err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, sighting{n, time.Now(), s})
	})
	return w
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// next waits for the notification after the first n.
func (w *witness) next(n int) sighting {
	w.t.Helper()
	w.p.d.Eventually("a notification", func() bool { return w.count() > n })
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[n]
}

// never checks that none comes while one could be on its way.
func (w *witness) never(n int, why string) {
	w.t.Helper()
	started := time.Now()
	w.p.d.Eventually("the moment to pass", func() bool { return time.Since(started) > 3*time.Second })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) > n {
		w.t.Errorf("%s, but it was said: %s", why, w.seen[n].note)
	}
}

// state is that of a connection when a notification came.
func (s sighting) state(name string) control.State {
	for _, c := range s.snap.Connections {
		if c.Name == name {
			return c.State
		}
	}
	return ""
}

// send sends a request, to one connection when pin names it, and returns the
// status of the answer.
func (p *program) send(t *testing.T, pin string) int {
	t.Helper()
	body := `{"model":"claude-sonnet-4-5","max_tokens":16,"messages":[{"role":"user","content":"hello"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if pin != "" {
		req.Header.Set("X-Omniroute-Connection", pin)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestNotificationsAreTrueWhenTheyAppear drives the program through changes of
// state and holds each notification against the state in which it was sent.
func TestNotificationsAreTrueWhenTheyAppear(t *testing.T) {
	d := New(t, true)
	notes := d.Notifications()
	panel := d.Panel()
	p := startProgram(t, d)
	panel.Icon().UntilText("2 of 2 connections serving")
	w := watch(t, p, notes)
	a, b := p.connection(t, first).ID, p.connection(t, second).ID
	fault := func(id, kind string, wait int) {
		p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: id, Kind: kind, RetryAfterSeconds: wait}}})
	}
	until := func(name string, s control.State) time.Time {
		t.Helper()
		d.Eventually(fmt.Sprintf("%s to be %s", name, s), func() bool { return p.connection(t, name).State == s })
		return time.Now()
	}
	soon := func(s sighting, since time.Time) {
		t.Helper()
		if late := s.at.Sub(since); late > 2*time.Second {
			t.Errorf("%s came after %v", s.note, late)
		}
	}
	says := func(s sighting, title, body string) {
		t.Helper()
		t.Logf("%s | %s", s.note.Title, s.note.Body)
		if !strings.Contains(s.note.Title, title) || !strings.Contains(s.note.Body, body) {
			t.Errorf("%s, want %q and %q", s.note, title, body)
		}
		if text := s.note.Title + s.note.Body; strings.Contains(text, "127.0.0.1") || strings.Contains(text, "(anthropic)") {
			t.Errorf("%s names an address or a protocol", s.note)
		}
	}
	back := func(id string) {
		t.Helper()
		fault(id, "none", 0)
		if err := p.api.ClearCooldown(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := p.api.ResetBreakers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	openBreaker := func() time.Time {
		t.Helper()
		fault(a, "server_error", 0)
		for range 30 {
			if p.connection(t, first).State == control.StateOpen {
				break
			}
			p.send(t, "")
			p.demo(t, control.DemoPatch{AdvanceMs: 6000})
		}
		return until(first, control.StateOpen)
	}
	if _, err := p.api.EditConnection(t.Context(), a, control.ConnectionPatch{DisableCooling: new(true)}); err != nil {
		t.Fatal(err)
	}

	// A breaker that opens.
	since := openBreaker()
	s := w.next(0)
	soon(s, since)
	says(s, "breaker open", "Requests go to ")
	if s.state(first) != control.StateOpen || !strings.Contains(s.note.Body, second) || s.state(second) != control.StateServing {
		t.Errorf("%s, but %s is %s and %s is %s", s.note, first, s.state(first), second, s.state(second))
	}

	// It closes, opens and closes again within the minute: open is what was said
	// last, and what is said next is how it stands then.
	back(a)
	openBreaker()
	back(a)
	w.never(1, "the breaker opened and closed again")

	// A cooldown of one connection is not the end of service, neither for a
	// request that was sent to that one alone.
	if _, err := p.api.EditConnection(t.Context(), a, control.ConnectionPatch{DisableCooling: new(false)}); err != nil {
		t.Fatal(err)
	}
	fault(a, "rate_limit", 600)
	p.send(t, "")
	until(first, control.StateCooling)
	if status := p.send(t, first); status < 400 {
		t.Errorf("a request for %s alone got %d", first, status)
	}
	w.never(1, "the other connection serves")

	// Then the other rests as well.
	fault(b, "rate_limit", 900)
	p.send(t, "")
	since = until(second, control.StateCooling)
	p.send(t, "")
	s = w.next(1)
	soon(s, since)
	says(s, "No connection available", first+" is available again")
	if s.state(first).Available() || s.state(second).Available() {
		t.Errorf("%s, but %s is %s and %s is %s", s.note, first, s.state(first), second, s.state(second))
	}

	// Both come back, and the next end of service is over before it is told.
	back(a)
	back(b)
	until(second, control.StateServing)
	fault(a, "rate_limit", 600)
	fault(b, "rate_limit", 600)
	p.send(t, "")
	p.send(t, "")
	back(a)
	w.never(2, "a connection came back in time")

	// An account without credit, while changes cannot be saved.
	back(b)
	away := p.data + ".away"
	if err := os.Rename(p.data, away); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(away, p.data) })
	fault(a, "no_credit", 0)
	p.send(t, "")
	since = until(first, control.StateCreditsExhausted)
	s = w.next(2)
	soon(s, since)
	says(s, first+": no credit", "Requests go to ")
	if s.state(first) != control.StateCreditsExhausted || s.state(second) != control.StateServing {
		t.Errorf("%s, but %s is %s and %s is %s", s.note, first, s.state(first), second, s.state(second))
	}
}

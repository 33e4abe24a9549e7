// Package clients runs real coding clients against the real program in its
// demo, and looks at what their users see and at what the activity tells.
package clients

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// turnLimit is how long one turn of a client may take; the retries of the
// slowest client are well within it.
const turnLimit = 2 * time.Minute

func TestRealClients(t *testing.T) {
	// The clients come from npm and one of them is large, so they run only
	// where they are asked for.
	if os.Getenv("RUN_CLIENTS") == "" {
		t.Skip("the real clients run only with RUN_CLIENTS=1: build/clients and build/test --clients set it")
	}
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			p := newProgram(t)
			t.Run("a plain turn", func(t *testing.T) { plainTurn(t, p, a) })
			if a.tools {
				t.Run("a turn with a tool call", func(t *testing.T) { toolTurn(t, p, a) })
			}
			t.Run("the first connection says 429 with Retry-After 60", func(t *testing.T) { failover(t, p, a) })
			t.Run("both connections are down", func(t *testing.T) { bothDown(t, p, a) })
		})
	}
}

// ask makes one turn that must succeed.
func ask(t *testing.T, p *program, a agent, prompt string) turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	got, err := a.run(ctx, t, p.base(), prompt)
	if err != nil {
		t.Fatalf("the user sees a failure: %v", err)
	}
	if strings.TrimSpace(got.text) == "" {
		t.Fatal("the user sees an empty answer")
	}
	return got
}

func plainTurn(t *testing.T, p *program, a agent) {
	p.calm(t)
	first, _ := p.connections(t)
	asked := time.Now()
	got := ask(t, p, a, plainPrompt)
	if got.calls != 0 {
		t.Errorf("the client carried out %d tool calls, want none", got.calls)
	}
	rows := p.rows(t, asked, a.requests)
	for _, r := range rows {
		if r.Status != 200 || r.ConnectionID != first.ID || r.FailedOver {
			t.Errorf("want a plain answer of %s:%s", first.Name, story(rows))
		}
	}
	t.Logf("answer: %q%s", got.text, story(rows))
}

func toolTurn(t *testing.T, p *program, a agent) {
	p.calm(t)
	asked := time.Now()
	got := ask(t, p, a, toolPrompt)
	rows := p.rows(t, asked, 2)
	if got.calls != 1 {
		t.Errorf("the client carried out %d tool calls, want 1", got.calls)
	}
	for _, r := range rows {
		if r.Status != 200 {
			t.Errorf("a step of the turn failed:%s", story(rows))
		}
	}
	t.Logf("answer: %q%s", got.text, story(rows))
}

// failover is the main promise: a normal answer although the first connection
// refuses, then no more requests for it until its time, restart or not.
func failover(t *testing.T, p *program, a agent) {
	p.calm(t)
	first, second := p.connections(t)
	p.fault(t, "rate_limit", 60, 1, 0)

	asked := time.Now()
	ask(t, p, a, plainPrompt)
	rows := p.rows(t, asked, a.requests)
	if !rows[0].FailedOver || !hasStep(rows[0], control.StepFailed, first.ID, 429) || !hasStep(rows[0], control.StepAnswered, second.ID, 0) {
		t.Fatalf("activity does not show the failover from %s to %s:%s", first.Name, second.Name, story(rows))
	}
	t.Logf("failover:%s", story(rows))
	cooling, _ := p.connections(t)
	if cooling.State != control.StateCooling || cooling.Until == nil {
		t.Fatalf("%s is %s, want cooling", first.Name, cooling.State)
	}
	if left := cooling.Until.Sub(asked); left < 59*time.Second || left > time.Minute+patience {
		t.Errorf("%s is left alone for %s, want the minute it asked for", first.Name, left)
	}

	skips(t, p, a, first, second)
	p.stop(t)
	p.start(t)
	again, _ := p.connections(t)
	if again.State != control.StateCooling || again.Until == nil || again.Until.Sub(*cooling.Until).Abs() > time.Second {
		t.Fatalf("after the restart %s is %s until %v, want cooling until %v", first.Name, again.State, again.Until, cooling.Until)
	}
	skips(t, p, a, first, second)

	// Its time has come.
	if _, err := p.api.EditDemo(t.Context(), control.DemoPatch{AdvanceMs: 61_000}); err != nil {
		t.Fatal(err)
	}
	asked = time.Now()
	ask(t, p, a, plainPrompt)
	if rows := p.rows(t, asked, a.requests); rows[0].ConnectionID != first.ID {
		t.Errorf("%s is not asked again after its time:%s", first.Name, story(rows))
	}
}

// skips makes a turn that the first connection must not be asked for.
func skips(t *testing.T, p *program, a agent, first, second control.Connection) {
	t.Helper()
	asked := time.Now()
	ask(t, p, a, plainPrompt)
	rows := p.rows(t, asked, a.requests)
	if !hasStep(rows[0], control.StepSkipped, first.ID, 0) || rows[0].ConnectionID != second.ID {
		t.Errorf("%s is not skipped:%s", first.Name, story(rows))
	}
	t.Logf("skipped:%s", story(rows))
}

// bothDown takes both connections away until the client has been refused, then
// mends them: the client must still be there and finish the turn.
func bothDown(t *testing.T, p *program, a agent) {
	p.calm(t)
	p.fault(t, "server_error", 0, 0, 0, 1)
	asked := time.Now()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := p.api.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mended := make(chan struct{})
	go func() {
		defer close(mended)
		for e := range events {
			if e.Type == control.EventActivity && e.Activity.Status >= 400 {
				if err := p.setFault(ctx, "none", 0, 0, 0, 1); err != nil {
					t.Error(err)
				}
				return
			}
		}
	}()
	got := ask(t, p, a, plainPrompt)
	cancel()
	<-mended

	var rows []control.Activity
	if !eventually(t, func() bool {
		rows = p.rows(t, asked, 2)
		return rows[len(rows)-1].Status == 200
	}) {
		t.Errorf("the last request was not answered:%s", story(rows))
	}
	refused := slices.IndexFunc(rows, func(r control.Activity) bool { return r.Status == 429 || r.Status == 503 || r.Status == 502 })
	if refused < 0 {
		t.Fatalf("the client was never refused:%s", story(rows))
	}
	if a.name == "claude-code" && len(got.retries) == 0 {
		t.Error("Claude Code did not say that it retries")
	}
	t.Logf("retried after %d (as the client tells: %v):%s", rows[refused].Status, got.retries, story(rows))
}

// hasStep reports whether a request's story has such a step; status 0 is any.
func hasStep(r control.Activity, kind control.StepKind, connection string, status int) bool {
	return slices.ContainsFunc(r.Trace, func(s control.Step) bool {
		return s.Kind == kind && s.ConnectionID == connection && (status == 0 || s.Status == status)
	})
}

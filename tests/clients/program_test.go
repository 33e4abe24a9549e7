package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// patience is how long a program may take to start, to stop, or to show what
// it has already done.
const patience = 15 * time.Second

// program is the real Breakwater in its demo, without a desktop.
type program struct {
	bin  string
	home string
	data string
	port int
	demo []string // the flags of its demo; none for a program without one

	cmd  *exec.Cmd
	log  *bytes.Buffer
	done chan struct{}
	api  *client.Client
}

// newProgram starts Breakwater's demo on a data folder and a port of its own.
func newProgram(t *testing.T) *program {
	t.Helper()
	return launch(t, &program{bin: programPath(t), demo: []string{"--demo"}})
}

// newBareProgram is newProgram without the demo: it has no connections.
func newBareProgram(t *testing.T) *program {
	t.Helper()
	return launch(t, &program{bin: programPath(t)})
}

func programPath(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("BREAKWATER_BIN")
	if bin == "" {
		t.Fatal("BREAKWATER_BIN must name the program to test")
	}
	return bin
}

// launch starts p in folders of its own for as long as the test runs.
func launch(t *testing.T, p *program) *program {
	t.Helper()
	p.home, p.data, p.port = t.TempDir(), filepath.Join(t.TempDir(), "data"), freePort(t)
	p.start(t)
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("Breakwater's log:\n%s", p.log)
		}
	})
	return p
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// base is the address that clients are pointed at.
func (p *program) base() string { return "http://127.0.0.1:" + strconv.Itoa(p.port) }

// command is the program with these arguments, in an environment of its own.
func (p *program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.bin, append(args, "--data-dir", p.data)...)
	cmd.Dir = p.home
	cmd.Env = []string{"HOME=" + p.home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "BREAKWATER_SECRETS=file"}
	return cmd
}

func (p *program) start(t *testing.T) {
	t.Helper()
	if p.log == nil {
		p.log = &bytes.Buffer{}
	}
	p.cmd = p.command(context.WithoutCancel(t.Context()), append(p.demo, "--headless", "--port", strconv.Itoa(p.port))...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait() // how it ended shows in the log
	}(p.cmd, p.done)
	if !eventually(t, p.answers) {
		p.stop(t)
		t.Fatalf("Breakwater did not answer on %s:\n%s", p.base(), p.log)
	}
	token := p.command(t.Context(), append([]string{"token"}, p.demo...)...)
	out, err := token.Output()
	if err != nil {
		t.Fatalf("breakwater token: %v", err)
	}
	p.api = client.New(p.base(), strings.TrimSpace(string(out)), client.Options{})
}

func (p *program) answers() bool {
	select {
	case <-p.done:
		return false
	default:
	}
	resp, err := http.Get(p.base() + "/api/monitoring/health")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop ends the program as a user's session does.
func (p *program) stop(t *testing.T) {
	t.Helper()
	if p.api != nil {
		p.api.Close()
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Error("Breakwater did not end by SIGTERM")
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// eventually looks until ok holds or patience ends.
func eventually(t *testing.T, ok func() bool) bool {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		if ok() {
			return true
		}
		select {
		case <-end:
			return false
		case <-tick.C:
		}
	}
}

// connections returns the demo's two connections in routing order.
func (p *program) connections(t *testing.T) (first, second control.Connection) {
	t.Helper()
	conns, err := p.pair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conns[0], conns[1]
}

func (p *program) pair(ctx context.Context) ([]control.Connection, error) {
	s, err := p.api.Snapshot(ctx)
	if err == nil && len(s.Connections) != 2 {
		err = fmt.Errorf("the demo has %d connections, want 2", len(s.Connections))
	}
	return s.Connections, err
}

// calm lifts every fault, cooldown and breaker.
func (p *program) calm(t *testing.T) {
	t.Helper()
	p.fault(t, "none", 0, 0, 0, 1)
	first, second := p.connections(t)
	for _, c := range []control.Connection{first, second} {
		if err := p.api.ClearCooldown(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.api.ResetBreakers(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// fault sets a fault for some of the connections, by their place in the order;
// count is how many requests it hits, 0 without end.
func (p *program) fault(t *testing.T, kind string, retryAfter, count int, places ...int) {
	t.Helper()
	if err := p.setFault(t.Context(), kind, retryAfter, count, places...); err != nil {
		t.Fatal(err)
	}
}

func (p *program) setFault(ctx context.Context, kind string, retryAfter, count int, places ...int) error {
	conns, err := p.pair(ctx)
	if err != nil {
		return err
	}
	var patch control.DemoPatch
	for _, i := range places {
		patch.Faults = append(patch.Faults, control.Fault{
			ConnectionID: conns[i].ID, Kind: kind, RetryAfterSeconds: retryAfter, Count: count,
		})
	}
	_, err = p.api.EditDemo(ctx, patch)
	return err
}

// rows returns the requests that came in since then, oldest first, as soon as
// there are at least n.
func (p *program) rows(t *testing.T, since time.Time, n int) []control.Activity {
	t.Helper()
	since = since.Truncate(time.Millisecond) // as the log keeps it
	var rows []control.Activity
	enough := eventually(t, func() bool {
		all, err := p.api.Activity(t.Context(), control.ActivityQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		rows = rows[:0]
		for _, r := range all {
			if !r.At.Before(since) {
				rows = append(rows, r)
			}
		}
		// A row is written when its request has ended, which may be a little
		// after the client's next request.
		slices.SortFunc(rows, func(a, b control.Activity) int { return a.At.Compare(b.At) })
		return len(rows) >= n
	})
	if !enough {
		t.Fatalf("activity has %d new rows, want %d: %s", len(rows), n, story(rows))
	}
	return rows
}

// story writes rows for people: who was asked and what came of it.
func story(rows []control.Activity) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "\n  %s %s by %s: %d %s", r.Method, r.Path, r.Client, r.Status, r.Result)
		for _, s := range r.Trace {
			fmt.Fprintf(&b, "; %s %s", s.Kind, s.ConnectionName)
			if s.Status != 0 {
				fmt.Fprintf(&b, " %d", s.Status)
			}
			if s.Reason != "" {
				fmt.Fprintf(&b, " (%s)", s.Reason)
			}
			if s.Until != nil {
				fmt.Fprintf(&b, " until %s", s.Until.Format(time.TimeOnly))
			}
		}
	}
	return b.String()
}

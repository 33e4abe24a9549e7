package together

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/db"
	"breakwater/proxy/control"
)

// rounds is how many data folders are begun; BREAKWATER_ROUNDS overrides it.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BREAKWATER_ROUNDS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BREAKWATER_ROUNDS=%s", text)
	}
	return n
}

// binary returns the path of the program, that of BREAKWATER_BIN or one built
// from this tree.
func binary(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("BREAKWATER_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "breakwater.exe") // as good a name as another elsewhere
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "breakwater")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return bin
}

// place is one data folder and the program that uses it.
type place struct{ bin, home, dir string }

func (p place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.bin, append(args, "--data-dir", p.dir)...)
	cmd.Env = []string{"HOME=" + p.home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "BREAKWATER_SECRETS=" + db.FileSecrets, "TEST_KEY=sk-test-not-a-key"}
	if root := os.Getenv("SystemRoot"); root != "" {
		cmd.Env = append(cmd.Env, "SystemRoot="+root)
	}
	return cmd
}

// ended is how a process ended.
type ended struct {
	what, out, err string
	failed         error
}

func (p place) run(ctx context.Context, args ...string) ended {
	var out, errs bytes.Buffer
	cmd := p.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	failed := cmd.Run()
	return ended{what: args[0], out: strings.TrimSpace(out.String()), err: strings.TrimSpace(errs.String()), failed: failed}
}

// refused is what a command says whose token is wrong; the digits may be part of
// a port as well.
var refused = regexp.MustCompile(`\b401\b|(?i)unauthorized|token is`)

var addConnection = []string{"connections", "add", "anthropic", "--name", "Work", "--key-env", "TEST_KEY"}

// together runs commands at once, and returns when all have ended.
func (p place) together(ctx context.Context, commands ...[]string) []ended {
	out := make([]ended, len(commands))
	var all sync.WaitGroup
	for i, args := range commands {
		all.Go(func() { out[i] = p.run(ctx, args...) })
	}
	all.Wait()
	return out
}

// begin starts the program beside other commands in an empty folder and ends
// it. It reports what went wrong.
func (p place) begin(ctx context.Context) error {
	started := make(chan ended, 1)
	go func() { started <- p.run(ctx, "--headless", "--port", "0") }()
	did := p.together(ctx, []string{"token"}, addConnection, []string{"quit"}, []string{"token"})
	did = append(did, p.untilEnded(ctx, started)...)
	last := p.run(ctx, "token")
	if last.failed != nil || !strings.HasPrefix(last.out, "bwk_") {
		return fmt.Errorf("the token at the end: %+v", last)
	}
	added := false
	for _, e := range did {
		switch {
		case e.what == "token" && (e.failed != nil || e.out != last.out):
			return fmt.Errorf("a wrong token: %+v, at the end %q", e, last.out)
		case e.what == "connections":
			added = e.failed == nil // it may come before the start or after the end
			if !added && refused.MatchString(e.err) {
				return fmt.Errorf("a refused token: %+v", e)
			}
		case e.failed != nil:
			return fmt.Errorf("%+v", e)
		}
	}
	return p.intact(ctx, last.out, added)
}

// untilEnded quits the program until the one that was started has ended: the
// first quit may have come before it.
func (p place) untilEnded(ctx context.Context, started <-chan ended) (did []ended) {
	for {
		select {
		case e := <-started:
			return append(did, e)
		case <-time.After(20 * time.Millisecond):
			did = append(did, p.run(ctx, "quit"))
		}
	}
}

// intact looks at what the folder holds: the token, and a key for every
// connection.
func (p place) intact(ctx context.Context, token string, added bool) error {
	log := slog.New(slog.DiscardHandler)
	secrets, err := db.OpenSecrets(ctx, p.dir, db.SecretsOptions{Backend: db.FileSecrets, Log: log})
	if err != nil {
		return err
	}
	if kept, _, err := secrets.Secret(control.TokenSecret); err != nil || kept != token {
		return fmt.Errorf("the folder holds another token: %w", err)
	}
	store, err := db.Open(ctx, db.Options{Dir: p.dir, Log: log})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // it was only read
	list, err := store.Connections(ctx)
	if err != nil || added && len(list) != 1 {
		return fmt.Errorf("%d connections, added: %v: %w", len(list), added, err)
	}
	for _, c := range list {
		if key, _, err := secrets.Secret(control.SecretName(c.ID)); err != nil || key == "" {
			return fmt.Errorf("connection %s has no key: %w", c.Name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(p.dir, "*.tmp"))
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left half written: %v: %w", left, err)
	}
	return nil
}

func TestStartTokenAddAndQuitAtOnce(t *testing.T) {
	bin, wrong := binary(t), 0
	for n := range rounds(t) {
		p := place{bin: bin, home: t.TempDir()}
		p.dir = filepath.Join(p.home, "data")
		if err := p.begin(t.Context()); err != nil {
			wrong++
			t.Errorf("round %d: %v", n, err)
		}
		_ = os.RemoveAll(p.home) // many rounds would fill the disk
	}
	t.Logf("%d rounds, %d wrong", rounds(t), wrong)
}

// A process that is killed at any moment leaves secrets that open, and no lock.
func TestKilledWhileItBegins(t *testing.T) {
	bin := binary(t)
	for n := range 2 * rounds(t) {
		p := place{bin: bin, home: t.TempDir()}
		p.dir = filepath.Join(p.home, "data")
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(n%40)*5*time.Millisecond)
		first := p.together(ctx, []string{"token"}, []string{"--headless", "--port", "0"})[0]
		kill()
		second, third := p.run(t.Context(), "token"), p.run(t.Context(), "token")
		if second.failed != nil || second.out != third.out || first.failed == nil && first.out != second.out {
			t.Errorf("round %d: %+v, %+v, %+v", n, first, second, third)
		}
		_ = os.RemoveAll(p.home)
	}
}

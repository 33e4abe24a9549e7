//go:build !windows

package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// ordinary is the user that the program runs as where the test runs as root,
// for whom rights would not count.
const ordinary = 65534

// within is how soon it must save again after a fault has ended.
const within = 10 * time.Second

var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if binary = os.Getenv("BREAKWATER_BIN"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "breakwater-storage")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "breakwater")
	build := exec.Command("go", "build", "-o", binary, "breakwater")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// program is a Breakwater with a folder and a port of its own.
type program struct {
	t     *testing.T
	home  string
	data  string
	port  int
	token string
	limit string // a command before the program, such as a limit of its files
	log   safeBuffer
	cmd   *exec.Cmd
	done  chan struct{}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// prepare makes the folders; nothing runs yet.
func prepare(t *testing.T) *program {
	t.Helper()
	home, err := os.MkdirTemp("", "bw-storage")
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, home: home, data: filepath.Join(home, "data")}
	t.Cleanup(func() {
		p.stop(syscall.SIGKILL)
		p.allow()
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the program's log:\n%s", p.log.String())
		}
	})
	if err := os.Mkdir(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		for _, dir := range []string{p.home, p.data} {
			if err := os.Chown(dir, ordinary, ordinary); err != nil {
				t.Skip("files cannot be given to an ordinary user: ", err)
			}
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p.port = ln.Addr().(*net.TCPAddr).Port
	return p
}

func (p *program) command(args ...string) *exec.Cmd {
	args = append(args, "--data-dir", p.data)
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), binary, args...)
	if p.limit != "" {
		line := p.limit + `; exec "$0" "$@"`
		cmd = exec.CommandContext(context.WithoutCancel(p.t.Context()), "/bin/sh", append([]string{"-c", line, binary}, args...)...)
	}
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "BREAKWATER_SECRETS=file"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	return cmd
}

// start starts it and waits until it answers.
func (p *program) start() {
	p.t.Helper()
	p.cmd = p.command("--headless", "--port", strconv.Itoa(p.port))
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait() // how it ended shows in the log
	}(p.cmd, p.done)
	p.eventually("it answers", 30*time.Second, func() bool {
		res, err := http.Get(p.url("/api/hello"))
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// begin starts it and reads its token.
func (p *program) begin() {
	p.t.Helper()
	p.start()
	p.eventually("the token can be read", within, p.readToken)
}

func (p *program) readToken() bool {
	out, err := p.command("token").Output()
	p.token = strings.TrimSpace(string(out))
	return err == nil
}

func (p *program) stop(sig os.Signal) {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig) // it may have ended
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.t.Error("it did not end")
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

func (p *program) url(path string) string { return "http://127.0.0.1:" + strconv.Itoa(p.port) + path }

// path is a file of the data folder.
func (p *program) path(name string) string { return filepath.Join(p.data, name) }

// call sends a management request.
func (p *program) call(method, path, body string) (int, []byte) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url(path), strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, out
}

// save makes a change; the code is empty when it was accepted.
func (p *program) save(limit int) (status int, code string) {
	p.t.Helper()
	status, out := p.call(http.MethodPatch, "/api/settings", fmt.Sprintf(`{"activityLimit":%d}`, limit))
	var answer struct{ Error struct{ Code string } }
	if status != http.StatusOK && json.Unmarshal(out, &answer) != nil {
		p.t.Fatalf("%d %s", status, out)
	}
	return status, answer.Error.Code
}

// saved reads the change from a new process, as a restart finds it.
func (p *program) saved() int {
	p.t.Helper()
	status, out := p.call(http.MethodGet, "/api/settings", "")
	var set struct{ ActivityLimit int }
	if err := json.Unmarshal(out, &set); err != nil || status != http.StatusOK {
		p.t.Fatalf("%d %s", status, out)
	}
	return set.ActivityLimit
}

func (p *program) fault() string {
	p.t.Helper()
	status, out := p.call(http.MethodGet, "/api/state", "")
	var snap control.Snapshot
	if err := json.Unmarshal(out, &snap); err != nil || status != http.StatusOK {
		p.t.Fatalf("%d %s", status, out)
	}
	if snap.Storage == nil {
		return ""
	}
	if snap.Storage.Since.IsZero() || !strings.HasPrefix(snap.Storage.Text, "Changes cannot be saved") {
		p.t.Errorf("the fault says %+v", snap.Storage)
	}
	return snap.Storage.Kind
}

func (p *program) doctor() string {
	p.t.Helper()
	out, err := p.command("doctor", "--offline").CombinedOutput()
	if err == nil {
		p.t.Errorf("the doctor found nothing")
	}
	return string(out)
}

func (p *program) eventually(what string, limit time.Duration, ok func() bool) {
	p.t.Helper()
	end := time.After(limit)
	for tick := time.Tick(50 * time.Millisecond); !ok(); {
		select {
		case <-tick:
		case <-p.done:
			p.t.Fatalf("it ended before %s:\n%s", what, p.log.String())
		case <-end:
			p.t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func (p *program) chmod(name string, mode os.FileMode) {
	p.t.Helper()
	if err := os.Chmod(p.path(name), mode); err != nil {
		p.t.Fatal(err)
	}
}

// allow gives all rights back.
func (p *program) allow() {
	_ = os.Chmod(p.data, 0o700) // it may have been moved away
	entries, _ := os.ReadDir(p.data)
	for _, e := range entries {
		if e.Type().IsRegular() {
			_ = os.Chmod(p.path(e.Name()), 0o600) // it may be gone by now
		}
	}
}

package soak

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
)

// patience is how long the program may take to start or to end.
const patience = 20 * time.Second

// program is the real Breakwater as a process of its own, with one connection
// that a simulated provider in this process answers.
type program struct {
	url, token string
	pid        int
}

// startProgram runs the program that BREAKWATER_BIN names, or one built from
// this tree.
func startProgram(t *testing.T) program {
	t.Helper()
	sim := simulator.New(simulator.Options{Keep: -1})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	home, port := t.TempDir(), freePort(t)
	bin := binary(t)
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, append(args, "--data-dir", filepath.Join(home, "data"))...)
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "BREAKWATER_SECRETS=file"}
		return cmd
	}
	var log bytes.Buffer
	cmd := command("--headless", "--port", strconv.Itoa(port))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }() // how it ended shows in the log
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if t.Failed() {
			t.Logf("the program's log:\n%s", tail(log.String()))
		}
	})
	p := program{url: "http://127.0.0.1:" + strconv.Itoa(port), pid: cmd.Process.Pid}
	until(t, "the program answers", func() bool {
		res, err := http.Get(p.url + "/api/monitoring/health")
		if err != nil {
			return false
		}
		_ = res.Body.Close() // not read
		return res.StatusCode == http.StatusOK
	})
	token, err := command("token").Output()
	if err != nil {
		t.Fatal(err)
	}
	p.token = strings.TrimSpace(string(token))
	api := client.New(p.url, p.token, client.Options{})
	defer api.Close()
	a := sim.Account("alpha")
	_, err = api.AddConnection(t.Context(), control.ConnectionInput{
		Provider: "demo", Name: "alpha", APIKey: a.Key(), BaseURL: a.BaseURL(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// binary returns the path of the program.
func binary(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("BREAKWATER_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "breakwater")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "breakwater")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return bin
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

// until looks until ok holds.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !ok(); {
		select {
		case <-end:
			t.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// tail is the end of a long text.
func tail(s string) string { return s[max(0, len(s)-4000):] }

//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// Each signal that ends the program lets the running answers end first: also
// SIGHUP, which a terminal sends when it closes.
func TestSignalsDrain(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"SIGHUP": syscall.SIGHUP, "SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			goOn := make(chan struct{})
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, frame("Hel"))
				_ = http.NewResponseController(w).Flush()
				<-goOn
				_, _ = io.WriteString(w, frame("lo")+"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer up.Close()
			dir := filepath.Join(t.TempDir(), "data")
			ended := start(t, dir)
			url, token, err := runningInstance(t.Context(), options{dataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			api := client.New(url, token, client.Options{})
			defer api.Close()
			_, err = api.AddConnection(t.Context(), control.ConnectionInput{Provider: "demo", Name: "alpha", APIKey: "fake-key-of-alpha", BaseURL: up.URL + "/v1"})
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			if _, err := io.ReadFull(res.Body, make([]byte, len(frame("Hel")))); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			for { // until it takes no new ones
				r, err := http.Get(url + "/api/hello")
				if err != nil {
					break
				}
				_ = r.Body.Close()
			}
			close(goOn)
			rest, err := io.ReadAll(res.Body)
			if err != nil || !strings.Contains(string(rest), `"lo"`) || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
				t.Errorf("the running answer ended with %q, %v", rest, err)
			}
			if code := <-ended; code != 0 {
				t.Errorf("the program ended with %d", code)
			}
		})
	}
}

func frame(text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
}

// A program that was started to outlive its terminal does.
func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	if !slices.ContainsFunc(endSignals(), func(s os.Signal) bool { return s == syscall.SIGHUP }) && !signal.Ignored(syscall.SIGHUP) {
		t.Error("SIGHUP does not end the program")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	for _, s := range endSignals() {
		if s == syscall.SIGHUP {
			t.Error("a SIGHUP that is ignored (nohup) would end the program")
		}
	}
}

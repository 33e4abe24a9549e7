package control

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"breakwater/proxy/dialect"
	"breakwater/resilience/clock"
)

// A dialect that a later version has stored is left out, and the log says of which
// connection; the connection stays.
func TestUnknownStoredDialects(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stored []string
		speaks string
		logged []string
	}{
		{"none", nil, strings.Join(dialect.Names(), " "), nil},
		{"all known", []string{"chat", "anthropic"}, "anthropic chat", nil},
		{"one of them", []string{"gemini", "chat"}, "chat", []string{"gemini"}},
		{"none known", []string{"gemini", "", "Chat"}, "", []string{"gemini", `dialect=""`, "dialect=Chat"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := newMemory()
			store.records = []ConnectionRecord{{
				ID: "c1", Provider: "custom", Name: "mine", Credential: "apikey", BaseURL: "https://llm.example.com/v1", Dialects: tt.stored, Active: true, Priority: 1,
			}}
			var log bytes.Buffer
			s, err := New(t.Context(), Config{Store: store, Secrets: noSecrets{}, Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: clock.NewFake(t0)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			r, ok := s.Route("c1")
			if !ok || strings.Join(r.Dialects(), " ") != tt.speaks {
				t.Errorf("it speaks %v, %v", r.Dialects(), ok)
			}
			if n := strings.Count(log.String(), "unknown dialect"); n != len(tt.logged) {
				t.Errorf("%d lines: %s", n, log.String())
			}
			for _, want := range tt.logged {
				if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "connection=c1") {
					t.Errorf("no %q in %s", want, log.String())
				}
			}
		})
	}
}

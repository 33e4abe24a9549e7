//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeysAreImportedOnlyWhenAskedAndChosen(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	b.env["OPENAI_API_KEY"], b.env["GROQ_API_KEY"] = "sk-openai-0000aaaa", "gsk-0000000000bbbb"
	path := filepath.Join(b.options.Clients.Home, ".env")
	if err := os.WriteFile(path, []byte("GROQ_API_KEY=gsk-2222222222cccc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.push("Import keys…")
	b.wantShown("Choose what becomes a connection.", "$OPENAI_API_KEY · …aaaa\nThere is a connection to it already.", "$GROQ_API_KEY · …bbbb",
		"…cccc\nA second key of the same provider.", "Groq #2")
	if strings.Contains(b.words(), "0000") {
		t.Error("a key can be read on the screen")
	}
	if len(b.fake.added) != 0 {
		t.Fatal("something was added unasked")
	}
	b.push("Import")
	if n := len(b.fake.added); n != 1 {
		t.Fatal(n, "added")
	}
	if in := b.fake.added[0]; in.Provider != "groq" || in.Name != "Groq" || in.APIKey != "gsk-0000000000bbbb" || in.Credential != "apikey" {
		t.Errorf("%+v", in)
	}
	b.wantShown("Added: Groq.")
	b.env = map[string]string{"KIMI": ""}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.goTo("connections/import")
	b.wantShown("No key was found.")
	b.push("Cancel")
	b.env["DEEPSEEK_API_KEY"] = "sk-deepseek-000000"
	b.getenv = func(n string) string { return b.env[n] }
	b.fake.refuse = errors.New("no")
	b.goTo("connections/import")
	b.push("Import")
	b.wantShown("Nothing was added. Not usable: DeepSeek.")
}

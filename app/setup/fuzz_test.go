package setup

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzJSON sets and removes a value in any object: the file stays valid and the
// rest of it says what it said.
func FuzzJSON(f *testing.F) {
	for _, c := range files {
		if strings.HasSuffix(c.name, ".json") {
			f.Add(c.before)
		}
	}
	f.Add("{\"a\":{}\r\n}")
	f.Add(" {\t} ")
	f.Add(`{"env":{"a.b":"c"},"env2":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := openJSON([]byte(text))
		if err != nil {
			return
		}
		before := map[string]any{}
		if json.Unmarshal([]byte(text), &before) != nil || before["zz"] != nil || strings.TrimSpace(text) == "" {
			return
		}
		if _, err := d.set("zz.y.x", "v"); err != nil {
			t.Fatal(err)
		}
		during := map[string]any{}
		if err := json.Unmarshal(d.bytes(), &during); err != nil {
			t.Fatalf("%v: %s", err, d.bytes())
		}
		if _, plain, _ := d.get("zz.y.x"); plain != "v" {
			t.Fatalf("%q in %s", plain, d.bytes())
		}
		if err := d.remove("zz.y.x"); err != nil {
			t.Fatal(err)
		}
		after := map[string]any{}
		if err := json.Unmarshal(d.bytes(), &after); err != nil {
			t.Fatalf("%v: %s", err, d.bytes())
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzTOML sets and removes keys in any text: its lines stay as they were.
func FuzzTOML(f *testing.F) {
	for _, c := range files {
		f.Add(c.before)
	}
	f.Add("[a]\n[model_providers.zz]\r\nx=1\n'''")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "zz") {
			return
		}
		d, err := openTOML([]byte(text))
		if err != nil {
			return
		}
		before := string(d.bytes())
		for _, key := range []string{"zz", "t.zz.k", "t.zz.l"} {
			if _, err := d.set(key, "v"); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{"zz", "t.zz.k", "t.zz.l"} {
			if err := d.remove(key); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(d.bytes()); strings.TrimSpace(got) != strings.TrimSpace(before) {
			t.Fatalf("%q became %q", before, got)
		}
	})
}

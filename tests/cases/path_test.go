package cases

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"breakwater/tests/scenario"
)

// requestPath are the packages that hold the way of one request.
var requestPath = []string{"proxy", "proxy/exchange", "proxy/attempt", "proxy/refusal", "proxy/scrub"}

// measure names the variable that asks for what takes a build of its own, and
// streamed the one that gives the number of requests.
const measure, howMany = "BREAKWATER_MEASURE", "BREAKWATER_STREAMED"

// One streamed request runs through few files and packages, so that a stranger
// reads it in an hour. They are counted by the blocks that one request more
// makes run.
func TestOneStreamedRequestTouchesFewFiles(t *testing.T) {
	const maxFiles, maxPackages = 12, 8
	if os.Getenv(measure) == "" {
		t.Skip("takes a build of its own; set " + measure + "=1")
	}
	before, after := blocks(t, 2), blocks(t, 3)
	files, packages := map[string]bool{}, map[string]bool{}
	for block, n := range after {
		name, _, _ := strings.Cut(block, ":")
		if dir := path.Dir(name); n == before[block] {
			continue
		} else if packages[dir] = true; slices.Contains(requestPath, dir) {
			files[name] = true
		}
	}
	delete(packages, "proxy")
	list := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "\n") }
	t.Logf("%d files:\n%s\n%d packages:\n%s", len(files), list(files), len(packages), list(packages))
	if len(files) > maxFiles {
		t.Errorf("one streamed request touches %d files of the request path, want at most %d", len(files), maxFiles)
	}
	if len(packages) > maxPackages {
		t.Errorf("one streamed request touches %d packages below proxy, want at most %d", len(packages), maxPackages)
	}
}

// blocks are how often each block of the proxy runs for n streamed requests.
func blocks(t *testing.T, n int) map[string]string {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-run", "^TestStreamedRequests$", "-covermode=atomic",
		"-coverpkg=breakwater/proxy/...", "-coverprofile="+profile, ".")
	cmd.Env = append(os.Environ(), howMany+"="+strconv.Itoa(n))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range bytes.Lines(text) {
		block := strings.TrimPrefix(strings.TrimSpace(string(line)), "breakwater/")
		if at := strings.LastIndex(block, " "); strings.HasPrefix(block, "proxy/") && !strings.HasPrefix(block, "proxy/simulator/") {
			found[block[:at]] = block[at:]
		}
	}
	return found
}

// TestStreamedRequests makes the requests that are measured.
func TestStreamedRequests(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(howMany))
	if err != nil {
		t.Skip("is run by TestOneStreamedRequestTouchesFewFiles")
	}
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	for i := range n {
		a := k.Post("/v1/messages", fmt.Sprintf(`{"model":"m1","stream":true,"max_tokens":64,"messages":[{"role":"user","content":"hi %d"}]}`, i))
		if a.Status != 200 || !strings.Contains(a.Body, "message_stop") {
			t.Fatalf("%d: %s", a.Status, a.Body)
		}
	}
}

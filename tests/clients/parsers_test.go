package clients

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// parsed is what a vendor's parser made of a stream.
type parsed struct {
	text, tool string
	output     int
}

// The parsers of both vendors' SDKs accept what comes out of the proxy, and
// read what the upstream meant, whatever the chunks, line ends and comments.
func TestVendorParsers(t *testing.T) {
	dir := os.Getenv("BREAKWATER_CLIENTS")
	if os.Getenv("RUN_CLIENTS") == "" || dir == "" {
		t.Skip("the vendors' parsers run only with RUN_CLIENTS=1 and BREAKWATER_CLIENTS: build/clients sets them")
	}
	const streams = 2000
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	var jobs []string
	var want []parsed
	var steps []simulator.Step
	for seed := range uint64(streams) {
		r := rand.New(rand.NewPCG(seed, 3))
		dialect := []string{"anthropic", "chat", "responses"}[r.IntN(3)]
		step, p := randomAnswer(r, dialect)
		jobs, want, steps = append(jobs, dialect), append(want, p), append(steps, step)
	}
	k.Sim.Account("alpha").Script(steps...)
	parse(t, k, dir, jobs, want, func(i int) any { return steps[i] })
}

// parse lets the vendors' parsers read an answer for each job and compares what
// they made of it.
func parse(t *testing.T, k *scenario.Kit, dir string, jobs []string, want []parsed, about func(int) any) {
	t.Helper()
	list, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/parse.cjs")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "BASE=" + k.URL, "BREAKWATER_CLIENTS=" + dir, "JOBS=" + string(list)}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(jobs) {
		t.Fatalf("%v, %d lines: %s", err, len(lines), out)
	}
	for i, line := range lines {
		var got [3]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got[0], "|", got[1], "|", got[2]) != fmt.Sprint(want[i].text, "|", want[i].tool, "|", want[i].output) {
			t.Errorf("seed %d, %s: the parser read %v, want %+v; step %+v", i, jobs[i], got, want[i], about(i))
		}
	}
}

// randomAnswer makes an answer with what a parser should read from it.
func randomAnswer(r *rand.Rand, dialect string) (simulator.Step, parsed) {
	words := []string{"hello ", "caf\u00e9 ", "\U0001F642 ", "a\nb ", "\u2028", "{\"x\":1} ", "data: y "}
	var text strings.Builder
	for range 1 + r.IntN(12) {
		text.WriteString(words[r.IntN(len(words))])
	}
	p := parsed{text: text.String(), output: 1 + r.IntN(500)}
	step := simulator.OK(p.text)
	if r.IntN(4) == 0 {
		p.text, p.tool = "", words[r.IntN(len(words))]
		args, _ := json.Marshal(map[string]string{"p": p.tool}) // a map of strings always encodes
		step = simulator.CallTool("f", string(args))
	} else if r.IntN(4) == 0 {
		step = step.Think("hm ", "", "so")
	}
	step = step.WithUsage(simulator.Usage{Input: 10, Output: p.output})
	if r.IntN(2) == 0 {
		step = step.CRLF()
	}
	form := "comment"
	if dialect == "anthropic" && r.IntN(2) == 0 {
		form = "ping"
	}
	step = step.KeepAliveAt(r.IntN(3), form, 0, 1+r.IntN(2))
	sizes := make([]int, 1+r.IntN(4))
	for i := range sizes {
		sizes[i] = 1 + r.IntN(1+r.IntN(300))
	}
	return step.InChunks(sizes...), p
}

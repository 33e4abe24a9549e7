package clients

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// The vendors' parsers read what the proxy has to put right (rulings 59 and 60,
// cases Q11, Q12, Q14): JSON in place of a stream and the other way round, wrong
// labels, no event names, no last event, no last empty line.
func TestVendorParsersReadMendedAnswers(t *testing.T) {
	dir := os.Getenv("BREAKWATER_CLIENTS")
	if os.Getenv("RUN_CLIENTS") == "" || dir == "" {
		t.Skip("the vendors' parsers run only with RUN_CLIENTS=1 and BREAKWATER_CLIENTS: build/clients sets them")
	}
	const answers = 600
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	alpha := k.Sim.Account("alpha")
	var jobs []string
	var want []parsed
	var steps []simulator.Step
	var sent []any
	for seed := range uint64(answers) {
		r := rand.New(rand.NewPCG(seed, 5))
		dialect := []string{"anthropic", "chat", "responses"}[r.IntN(3)]
		step, p := randomAnswer(r, dialect)
		kind := r.IntN(4)
		if kind == 0 {
			step.KeepAlive = nil // they belong into streams
		}
		alpha.Script(step)
		job, label, body := dialect, []string{"text/event-stream", "application/json", "text/plain", ""}[r.IntN(4)], ""
		switch kind {
		case 0: // JSON in place of a stream
			body = rawAnswer(t, alpha, dialect, false)
		case 1: // a stream in place of JSON
			job, body = dialect+" json", rawAnswer(t, alpha, dialect, true)
		default:
			body = worse(rawAnswer(t, alpha, dialect, true), kind == 2, r.IntN(2) == 0)
		}
		jobs, want = append(jobs, job), append(want, p)
		steps, sent = append(steps, simulator.Raw(label, body).InChunks(1+r.IntN(1+r.IntN(600)))), append(sent, body)
	}
	alpha.Script(steps...)
	parse(t, k, dir, jobs, want, func(i int) any { return sent[i] })
}

// rawAnswer asks the simulated account itself.
func rawAnswer(t *testing.T, a *simulator.Account, dialect string, stream bool) string {
	t.Helper()
	path, body := "/messages", scenario.Messages
	switch dialect {
	case "chat":
		path, body = "/chat/completions", strings.Replace(scenario.Chat, `"stream"`, `"stream_options":{"include_usage":true},"stream"`, 1)
	case "responses":
		path, body = "/responses", scenario.Responses
	}
	if !stream {
		body = scenario.NoStream(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || stream == json.Valid(raw) {
		t.Fatalf("%v %d: %s", err, res.StatusCode, raw)
	}
	return string(raw)
}

// worse takes the event names or the last event from a stream, or the last empty
// line.
func worse(stream string, names, torn bool) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		if names && strings.HasPrefix(line, "event: ") || !names && strings.Contains(line, "message_stop") || strings.Contains(line, "[DONE]") {
			continue
		}
		b.WriteString(line)
	}
	out := b.String()
	if torn {
		out = strings.TrimRight(out, "\r\n")
	}
	return out
}

package clients

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// sealed finds what accounts have sealed; all of it is written by sealing.
var sealed = regexp.MustCompile(`SEAL([a-z]+)x[0-9]+`)

// What the simulator writes in place of a seal.
var blank = regexp.MustCompile(`EqQBCgIYAhIkc2ltdWxhdG9yLXNpZ25hdHVyZQ==|Z0FBQUFBc2ltdWxhdG9y`)

// sealing is an account in front of a simulated one that reads only reasoning
// that it made itself.
type sealing struct {
	name, to string

	mu      sync.Mutex
	down    bool   // it has met its rate limit
	lossy   bool   // a relay that loses the error's code and shape
	after   func() // once, after the next answer
	made    int
	refused int
}

func (s *sealing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down:
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
		return
	case s.reads(body):
		s.pass(w, r, body)
		return
	}
	s.refused++
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, s.words(strings.HasSuffix(r.URL.Path, "/messages")))
}

// reads reports whether no part of the request was sealed by another account.
func (s *sealing) reads(body []byte) bool {
	for _, m := range sealed.FindAllSubmatch(body, -1) {
		if string(m[1]) != s.name {
			return false
		}
	}
	return true
}

func (s *sealing) words(messages bool) string {
	switch {
	case messages && s.lossy:
		return `{"error":{"message":"Invalid signature in thinking block (request id: 2026)","type":"new_api_error"}}`
	case messages:
		return "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}"
	case s.lossy:
		return `{"error":{"message":"Encrypted content could not be decrypted or parsed.","type":"upstream_error","param":null,"code":null}}`
	}
	return `{"error":{"message":"The encrypted content SEAL... could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`
}

// pass lets the simulated account answer and seals its reasoning.
func (s *sealing) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, s.to+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header = r.Header.Clone()
	req.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return
	}
	s.made++
	seal := fmt.Sprintf("SEAL%sx%d", s.name, s.made)
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(blank.ReplaceAll(answer, []byte(seal)))
	if f := s.after; f != nil {
		s.after = nil
		f()
	}
}

// rest makes the account meet its rate limit, or serve again.
func (s *sealing) rest(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// mover is one conversation of a client in front of two such accounts.
type mover struct {
	*scenario.Kit
	alpha, beta *sealing
	home, work  string
}

func newMover(t *testing.T, provider string, lossy bool) *mover {
	t.Helper()
	m := &mover{Kit: scenario.Start(t), home: t.TempDir(), work: t.TempDir()}
	add := func(name string) *sealing {
		a := m.Sim.Account(name)
		s := &sealing{name: name, to: strings.TrimSuffix(a.BaseURL(), "/v1"), lossy: lossy}
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		m.Add(name, provider, func(in *control.ConnectionInput) { in.BaseURL = srv.URL + "/v1" })
		return s
	}
	m.alpha, m.beta = add("alpha"), add("beta")
	return m
}

// turns makes ten turns with three moves: two between turns and one in an open
// tool cycle. Each must end well and with its whole answer.
func (m *mover) turns(t *testing.T, run func(t *testing.T, m *mover, turn int, prompt string) (string, error)) {
	t.Helper()
	for turn := 1; turn <= 10; turn++ {
		tools := turn == 2 || turn == 4 || turn == 6 || turn == 8
		switch turn {
		case 3:
			m.alpha.rest(true)
		case 6: // alpha goes on with what beta's tool call has brought
			m.beta.mu.Lock()
			m.beta.after = func() {
				m.beta.down = true
				m.alpha.rest(false)
				m.Clock.Advance(2 * time.Hour)
			}
			m.beta.mu.Unlock()
		case 9:
			m.alpha.rest(true)
			m.beta.rest(false)
			m.Clock.Advance(2 * time.Hour)
		}
		words := fmt.Sprintf("answer %d is whole", turn)
		for _, s := range []*sealing{m.alpha, m.beta} {
			var steps []simulator.Step
			if tools {
				steps = append(steps, simulator.CallTool("", "").Think("I should look."))
			}
			// The account that takes over in mid-cycle has no call left to make.
			if turn == 6 && s == m.alpha {
				steps = nil
			}
			m.Sim.Account(s.name).Script(append(steps, simulator.OK(words).Think("That is it.").Always())...)
		}
		prompt := plainPrompt
		if tools {
			prompt = toolPrompt
		}
		out, err := run(t, m, turn, prompt)
		if err != nil {
			t.Fatalf("turn %d: %v\n%s", turn, err, m.story())
		}
		if !strings.Contains(out, words) {
			t.Fatalf("turn %d: the user reads %q\n%s", turn, tail(out), m.story())
		}
	}
	if m.alpha.refused+m.beta.refused > 3 {
		t.Errorf("alpha refused %d requests, beta %d, for three moves", m.alpha.refused, m.beta.refused)
	}
	if m.alpha.made == 0 || m.beta.made == 0 || m.alpha.refused+m.beta.refused == 0 {
		t.Errorf("nothing moved: alpha answered %d, beta %d", m.alpha.made, m.beta.made)
	}
	t.Log(m.story())
}

// story is what the activity says of each request.
func (m *mover) story() string {
	rows, err := m.Facade().Activity(context.Background(), control.ActivityQuery{Limit: 60})
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for i := len(rows) - 1; i >= 0; i-- {
		fmt.Fprintf(&out, "%d %s:", rows[i].Status, rows[i].ConnectionName)
		for _, s := range rows[i].Trace {
			fmt.Fprintf(&out, " %s %s %s %d", s.Kind, s.ConnectionName, s.Reason, s.Count)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// command is a client's command in the conversation's own folders.
func (m *mover) command(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	cmd := clean(ctx, t, append([]string{"HOME=" + m.home}, env...), name, args...)
	cmd.Dir = m.work
	out, err := output(cmd)
	return string(out), err
}

func claudeTurn(t *testing.T, m *mover, turn int, prompt string) (string, error) {
	found, err := filepath.Glob(filepath.Join(installed(t), "node_modules", "@anthropic-ai", "claude-code-*", "claude*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("Claude Code is not installed in BREAKWATER_CLIENTS (%v)", err)
	}
	args := []string{"-p", prompt, "--allowedTools", "Bash"}
	if turn > 1 {
		args = append(args, "-c")
	}
	return m.command(t, []string{
		"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_AUTH_TOKEN=local", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "ANTHROPIC_MODEL=" + m.model("claude-opus-5-5"),
	}, found[0], args...)
}

func codexTurn(t *testing.T, m *mover, turn int, prompt string) (string, error) {
	found, err := filepath.Glob(filepath.Join(installed(t), "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(found) == 0 {
		t.Skipf("Codex is not installed in BREAKWATER_CLIENTS (%v)", err)
	}
	home := filepath.Join(m.home, ".codex")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", m.model("gpt-5.1-codex"),
		"-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false", "-c", "model_provider=breakwater",
		"-c", fmt.Sprintf(`model_providers.breakwater={name="breakwater",base_url="%s/v1",wire_api="responses"}`, m.URL),
	}
	if turn > 1 {
		args = append(args, "resume", "--last")
	}
	return m.command(t, []string{"CODEX_HOME=" + home}, found[0], append(args, prompt)...)
}

// model is what the client asks for: a model, or the combo over both accounts.
func (m *mover) model(name string) string {
	combos, err := m.Facade().Combos(context.Background())
	if err == nil && len(combos) > 0 {
		return combos[0].Name
	}
	return name
}

// A real client's conversation goes on, whichever of two accounts serves that
// refuse each other's reasoning (ruling 61).
func TestConversationsMove(t *testing.T) {
	if os.Getenv("RUN_CLIENTS") == "" {
		t.Skip("the real clients run only with RUN_CLIENTS=1: build/clients and build/test --clients set it")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the tool calls need a shell")
	}
	for _, c := range []struct {
		name, provider, model string
		run                   func(*testing.T, *mover, int, string) (string, error)
	}{
		{"Claude Code", "anthropic", "claude-opus-5-5", claudeTurn},
		{"Codex", "openai", "gpt-5.1-codex", codexTurn},
	} {
		for _, how := range []string{"two accounts", "context-relay", "relays that lose the code"} {
			t.Run(c.name+", "+how, func(t *testing.T) {
				m := newMover(t, c.provider, how == "relays that lose the code")
				if how == "context-relay" {
					in := control.ComboInput{Name: "relayed", Strategy: "context-relay"}
					for _, name := range []string{"alpha", "beta"} {
						in.Steps = append(in.Steps, control.ComboStep{Model: c.provider + "/" + c.model, Connection: m.Connection(name).ID})
					}
					if _, err := m.Facade().AddCombo(t.Context(), in); err != nil {
						t.Fatal(err)
					}
				}
				m.turns(t, c.run)
			})
		}
	}
}

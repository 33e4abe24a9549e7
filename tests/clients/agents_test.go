package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The prompts; the demo's provider calls a tool when it is asked to run one.
const (
	plainPrompt = "Say hi in one word."
	toolPrompt  = "Run the shell command: echo hi"
)

// turn is what one turn of a client came to.
type turn struct {
	text  string // what the user reads
	calls int    // tool calls that were carried out
	// retries are the statuses after which the client says it tries again;
	// only Claude Code tells.
	retries []int
}

// agent is a coding client that is pointed at Breakwater.
type agent struct {
	name     string
	tools    bool
	requests int // that a plain turn makes
	// run makes one turn; an error is what the user would call a failure.
	run func(ctx context.Context, t *testing.T, base, prompt string) (turn, error)
}

// installed is the folder in which npm has put the clients.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BREAKWATER_CLIENTS")
	if dir == "" {
		t.Fatal("BREAKWATER_CLIENTS must name the folder with the installed clients; build/clients makes one")
	}
	return dir
}

// clean is a command in an emptied environment with a home of its own. Other
// addresses than this machine's are cut off: their proxy is a closed port.
func clean(ctx context.Context, t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = work
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append([]string{
		"HOME=" + home, "TMPDIR=" + t.TempDir(), "PATH=/usr/local/bin:/usr/bin:/bin",
		"TERM=dumb", "LANG=C.UTF-8", "NO_COLOR=1",
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost,::1",
	}, env...)
	return cmd
}

// output runs the command and returns what it printed; the error holds what it
// complained of.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\nstdout: %s\nstderr: %s", filepath.Base(cmd.Path), err, tail(stdout.String()), tail(stderr.String()))
	}
	return stdout.Bytes(), nil
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// claudeCode is the real one, in print mode, with the token that makes it talk
// to a gateway.
func claudeCode(ctx context.Context, t *testing.T, base, prompt string) (turn, error) {
	return claudeCodeAs(ctx, t, base, prompt, "ANTHROPIC_AUTH_TOKEN=local")
}

// claudeCodeAs is Claude Code with another credential.
func claudeCodeAs(ctx context.Context, t *testing.T, base, prompt, credential string) (turn, error) {
	found, err := filepath.Glob(filepath.Join(installed(t), "node_modules", "@anthropic-ai", "claude-code-*", "claude*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("Claude Code is not installed in BREAKWATER_CLIENTS (%v)", err)
	}
	cmd := clean(ctx, t, []string{
		"ANTHROPIC_BASE_URL=" + base, credential,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
	}, found[0], "-p", prompt, "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose")
	out, err := output(cmd)
	if err != nil {
		return turn{}, err
	}
	return readClaude(out)
}

// readClaude reads the lines that Claude Code prints in stream-json form.
func readClaude(out []byte) (turn, error) {
	var got turn
	var result struct {
		Result  string `json:"result"`
		IsError bool   `json:"is_error"`
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	ended := false
	for lines.Scan() {
		var e struct {
			Type        string `json:"type"`
			Subtype     string `json:"subtype"`
			ErrorStatus int    `json:"error_status"`
			Message     struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return got, fmt.Errorf("a line of its output is no JSON: %w", err)
		}
		switch {
		case e.Subtype == "api_retry":
			got.retries = append(got.retries, e.ErrorStatus)
		case e.Type == "user" && strings.Contains(string(e.Message.Content), `"tool_result"`):
			got.calls++
		case e.Type == "result":
			ended = true
			if err := json.Unmarshal(lines.Bytes(), &result); err != nil {
				return got, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return got, err
	}
	got.text = result.Result
	if !ended || result.IsError {
		return got, fmt.Errorf("it ended with an error: %s", result.Result)
	}
	return got, nil
}

// sdk is one dialect of an official JavaScript SDK with default settings.
func sdk(dialect string, stream bool) func(context.Context, *testing.T, string, string) (turn, error) {
	return func(ctx context.Context, t *testing.T, base, prompt string) (turn, error) {
		script, err := filepath.Abs(filepath.Join("testdata", "sdk.cjs"))
		if err != nil {
			return turn{}, err
		}
		node, err := exec.LookPath("node")
		if err != nil {
			t.Fatal("the SDKs need node in the PATH")
		}
		flag := map[bool]string{true: "1", false: "0"}
		out, err := output(clean(ctx, t, []string{
			"CLIENTS=" + installed(t), "BASE=" + base, "PROMPT=" + prompt, "SDK=" + dialect,
			"STREAM=" + flag[stream], "TOOL=" + flag[prompt == toolPrompt],
		}, node, script))
		if err != nil {
			return turn{}, err
		}
		var got struct {
			Text  string `json:"text"`
			Calls int    `json:"calls"`
		}
		if err := json.Unmarshal(out, &got); err != nil {
			return turn{}, err
		}
		return turn{text: got.Text, calls: got.Calls}, nil
	}
}

// aider follows aider's request shape and retry loop on one of its two routes.
func aider(route aiderRoute) func(context.Context, *testing.T, string, string) (turn, error) {
	return func(ctx context.Context, _ *testing.T, base, prompt string) (turn, error) {
		text, err := (&aiderClient{base: base, route: route}).send(ctx, prompt, true)
		if err != nil {
			return turn{}, err
		}
		// The commit message that aider asks for after each change: one more
		// call, not streamed.
		message, err := (&aiderClient{base: base, route: route}).send(ctx, "Write a one-line commit message.", false)
		if err != nil {
			return turn{}, err
		}
		if message == "" {
			return turn{}, errors.New("the commit message is empty")
		}
		return turn{text: text}, nil
	}
}

var agents = []agent{
	{"claude-code", true, 1, claudeCode},
	{"sdk-anthropic-stream", true, 1, sdk("messages", true)},
	{"sdk-anthropic", true, 1, sdk("messages", false)},
	{"sdk-openai-chat-stream", true, 1, sdk("chat", true)},
	{"sdk-openai-chat", true, 1, sdk("chat", false)},
	{"sdk-openai-responses-stream", true, 1, sdk("responses", true)},
	{"sdk-openai-responses", true, 1, sdk("responses", false)},
	{"aider-openai", false, 2, aider(aiderOpenAI)},
	{"aider-anthropic", false, 2, aider(aiderAnthropic)},
}

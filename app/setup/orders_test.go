package setup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// life is one user's settings file through a random order of events.
type life struct {
	*rand.Rand
	t       *testing.T
	c       client
	name    string
	both    [2]Setup // the product's data folder and the demo's
	mine    []string // lines of the user's that must be in the file
	folders int      // how many data folders take part
	n       int
	log     []string
	crashed bool
	used    [2]bool // which data folders have written
	spoilt  bool    // a record was damaged or deleted: what it knew is lost
}

var ports = [2]string{"http://127.0.0.1:7411", "http://127.0.0.1:7499"}

func newLife(t *testing.T, seed uint64) *life {
	l := &life{Rand: rand.New(rand.NewPCG(seed, 5)), t: t, c: clients[seed%uint64(len(clients))], folders: 1 + int(seed/uint64(len(clients)))%2}
	s := rig(t, nil)
	s.Secrets = vault{}
	l.name, _ = filepath.Rel(s.Home, l.c.path(s.Home, s.Getenv))
	l.both = [2]Setup{s, s}
	l.both[1].Dir = filepath.Join(s.Dir, "demo")
	first := map[string]string{
		Codex:      "# head\nmodel_provider = \"openai\"\n[z] # t\ny = [\n  1,\n]\n",
		ClaudeCode: "{\n  \"z\": {\"y\": [1]},\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"https://g.example\",\n    \"FOO\": \"1\"\n  }\n}\n",
		OpenCode:   "{\n  // head\n  \"z\": {\"y\": [1,]},\n  \"provider\": {\n    \"openai\": {} // t\n  },\n}\n",
		Aider:      "# head\nz:\n  - 1\nopenai-api-key: sk-0123456789abcdef # t\nlast: x\n",
	}[l.c.id]
	s.put(t, l.name, first)
	l.mine = map[string][]string{
		Codex: {"# head", "[z] # t", "y = [", "  1,", "]"}, ClaudeCode: {`  "z": {"y": [1]},`, `    "FOO": "1"`},
		OpenCode: {"  // head", `  "z": {"y": [1,]},`}, Aider: {"# head", "z:", "  - 1", "last: x"},
	}[l.c.id]
	return l
}

// must reports what happened up to a fault.
func (l *life) must(ok bool, format string, args ...any) {
	l.t.Helper()
	if !ok {
		l.t.Fatalf("%s: %s\nafter %s\nthe file is %q", l.c.id, fmt.Sprintf(format, args...), strings.Join(l.log, ", "), l.both[0].text(l.t, l.name))
	}
}

// hold runs an event, which may be killed at one of its points.
func (l *life) hold(s Setup, run func(Setup)) {
	at := l.IntN(14)
	ended := make(chan struct{})
	s.crash = func() {
		if at--; at == 0 {
			l.crashed = true
			l.log = append(l.log, "killed")
			runtime.Goexit()
		}
	}
	go func() { defer close(ended); run(s) }()
	<-ended
}

func (l *life) event() {
	i := l.IntN(l.folders)
	s := l.both[i]
	before := l.both[0].text(l.t, l.name)
	switch what := l.IntN(12); what {
	case 0, 1, 2:
		port := ports[i]
		if l.IntN(4) == 0 {
			port = "http://127.0.0.1:" + strconv.Itoa(8000+l.IntN(9))
		}
		l.log = append(l.log, fmt.Sprint("set up ", i, " at ", port[len(port)-4:]))
		l.used[i] = true
		l.hold(s, func(s Setup) {
			if err := s.Write(l.c.id, Target{Endpoint: port}); err != nil {
				l.log = append(l.log, "refused")
				l.unwritten(before)
			}
		})
	case 3, 4:
		l.log = append(l.log, fmt.Sprint("undo ", i))
		l.hold(s, func(s Setup) {
			if done, err := s.Undo(l.c.id); err != nil {
				l.log = append(l.log, "refused")
				l.unwritten(before)
			} else if strings.HasPrefix(done, "Left as it was") {
				l.unwritten(before)
			}
		})
	case 5:
		l.log = append(l.log, "cleanup")
		for _, s := range l.both {
			_, _ = s.UndoAll(nil) // refusing is right, too; the file is looked at below
		}
	case 6:
		l.log = append(l.log, fmt.Sprint("copies deleted ", i))
		l.each(s, "*.copy", func(path string) { _ = os.Remove(path) })
	case 7:
		l.log = append(l.log, fmt.Sprint("copies damaged ", i))
		l.each(s, "*.copy", func(path string) { _ = os.WriteFile(path, []byte("x"), 0o600) })
	case 8:
		l.spoil(i)
	default:
		l.edit()
	}
}

func (l *life) unwritten(before string) {
	if now := l.both[0].text(l.t, l.name); now != before {
		l.log = append(l.log, "and yet it wrote")
		l.crashed = true
		l.mine = append(l.mine, "written although it was refused") // no file has this line
	}
}

func (l *life) each(s Setup, pattern string, do func(string)) {
	found, _ := filepath.Glob(filepath.Join(s.Dir, pattern))
	for _, path := range found {
		do(path)
	}
}

func (l *life) spoil(i int) {
	file := l.both[i].file()
	b, err := os.ReadFile(file)
	if err != nil {
		return
	}
	l.spoilt = true
	switch l.IntN(4) {
	case 0:
		l.log = append(l.log, fmt.Sprint("record deleted ", i))
		_ = os.Remove(file)
	case 1:
		l.log = append(l.log, fmt.Sprint("record cut ", i))
		_ = os.WriteFile(file, b[:l.IntN(len(b)+1)], 0o600)
	case 2:
		l.log = append(l.log, fmt.Sprint("record changed ", i))
		if len(b) > 0 {
			b[l.IntN(len(b))] ^= 1
		}
		_ = os.WriteFile(file, b, 0o600)
	default:
		l.log = append(l.log, fmt.Sprint("record emptied ", i))
		_ = os.WriteFile(file, nil, 0o600)
	}
}

// edit adds a line of the user's.
func (l *life) edit() {
	l.n++
	key := "user" + strconv.Itoa(l.n)
	text, ok := addUserKey(l.c, l.both[0].text(l.t, l.name), key)
	l.must(ok, "the user cannot edit the file")
	l.log = append(l.log, "edited")
	l.both[0].put(l.t, l.name, text)
	l.mine = append(l.mine, map[string]string{Codex: key + " = 1 # of the user", Aider: key + ": 1"}[l.c.id])
}

// check holds the file against the user's lines and the format's parser.
func (l *life) check() {
	l.t.Helper()
	text := l.both[0].text(l.t, l.name)
	e, err := edit(l.c.format, []byte(text))
	l.must(err == nil, "the file cannot be read: %v", err)
	for _, line := range l.mine {
		l.must(strings.Contains(text, line), "the line %q is gone", line)
	}
	for k := 1; k <= l.n; k++ {
		l.must(e.has(path{"user" + strconv.Itoa(k)}), "the user's key %d is gone", k)
	}
	if left, _ := filepath.Glob(filepath.Join(l.both[0].Home, filepath.Dir(l.name), "*.before-breakwater")); len(left) > 0 {
		l.must(false, "copies beside the file: %v", left)
	}
}

// end undoes everything; with whole records that gives the user's document.
func (l *life) end(original map[string]any) {
	for range 4 {
		for _, s := range l.both {
			done, err := s.UndoAll(nil)
			l.log = append(l.log, fmt.Sprint(done, err))
		}
	}
	l.check()
	if l.spoilt || l.crashed && l.used[0] && l.used[1] {
		return // what stood there may be known to the copies alone: it says so and asks
	}
	e, err := edit(l.c.format, []byte(l.both[0].text(l.t, l.name)))
	l.must(err == nil, "%v", err)
	got := e.tree
	for k := 1; k <= l.n; k++ {
		got = without(got, path{"user" + strconv.Itoa(k)})
	}
	l.must(same(got, original), "undoing all gave %v, want %v", got, original)
	for _, s := range l.both {
		for _, p := range s.Plans(here) {
			l.must(p.State == StateNone, "after undo it is %s", p.State)
		}
	}
}

// TestRandomOrdersKeepTheUsersSettings sets up, undoes, cleans up, deletes and
// damages, edits and is killed, in random orders.
func TestRandomOrdersKeepTheUsersSettings(t *testing.T) {
	for seed := range count("BREAKWATER_SETUP_ORDERS", 40) {
		l := newLife(t, uint64(seed))
		first, err := edit(l.c.format, []byte(l.both[0].text(t, l.name)))
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			l.event()
			l.check()
		}
		l.end(first.tree)
	}
}

const childVariable = "BREAKWATER_SETUP_CHILD"

// TestChild is no test: a process of its own that sets up and undoes until it
// is killed.
func TestChild(t *testing.T) {
	home := os.Getenv(childVariable)
	if home == "" {
		t.Skip("only for TestKilledProcessesLoseNothing")
	}
	s := Setup{Dir: filepath.Join(home, "data"), Home: home, Getenv: func(string) string { return "" }}
	fmt.Println("ready")
	for i := 0; ; i++ {
		if err := s.Write(Codex, Target{Endpoint: "http://127.0.0.1:" + strconv.Itoa(8000+i%3)}); err != nil {
			fmt.Println("failed", err)
		}
		if i%2 == 1 {
			if _, err := s.Undo(Codex); err != nil {
				fmt.Println("failed", err)
			}
		}
	}
}

// TestKilledProcessesLoseNothing kills real processes at random moments.
func TestKilledProcessesLoseNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a kill there may leave the file's temporary name locked")
	}
	const before = "# head\nmodel_provider = 'openai' # mine\n[z]\ny = [\n  1, # one\n]\n"
	s := rig(t, map[string]string{codexFile: before})
	for range count("BREAKWATER_SETUP_KILLS", 10) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), childVariable+"="+s.Home)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var ready [5]byte
		if _, err := out.Read(ready[:]); err != nil || string(ready[:]) != "ready" {
			t.Fatalf("%q, %v", ready, err)
		}
		<-time.After(time.Duration(rand.IntN(40)) * time.Millisecond) // any moment will do
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text := s.text(t, codexFile); text != before && !strings.Contains(text, "# mine\n[z]\ny = [\n  1, # one\n]\n") {
			t.Fatalf("%q", text)
		}
		if _, err := s.Undo(Codex); err != nil || s.text(t, codexFile) != before {
			t.Fatalf("%v: %q", err, s.text(t, codexFile))
		}
	}
}

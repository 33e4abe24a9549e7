package setup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maker writes settings files as users have them, from a seed.
type maker struct {
	*rand.Rand
	n  int
	nl string
}

func newMaker(seed uint64) *maker { return &maker{Rand: rand.New(rand.NewPCG(seed, 22))} }

func (m *maker) name() string { m.n++; return "k" + strconv.Itoa(m.n) }

func (m *maker) one(of ...string) string { return of[m.IntN(len(of))] }

func (m *maker) often(percent int) bool { return m.IntN(100) < percent }

// dress adds a byte order mark and CRLF to some texts.
func (m *maker) dress(text string) string {
	if m.often(25) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if m.often(20) {
		text = "\ufeff" + text
	}
	return text
}

func (m *maker) comment() string {
	m.n++
	return m.one("#", "# ", "## ") + m.one("note ", "[a] ", "x = 1 ", "\"q ", "é' ") + strconv.Itoa(m.n)
}

func (m *maker) tomlScalar() string {
	return m.one(`"a"`, `'b # c'`, `"\"d\" \u00e9"`, "1", "-2.5", "1e3", "true", "inf", "0xff", "1979-05-27T07:32:00Z", "1979-05-27", `""`,
		"\"\"\"\n[model_providers.breakwater]\nx = 1 # no \"\"q\n\"\"\"", "'''\nmodel_provider = \"no\"\n'''", `"""e""""`)
}

func (m *maker) tomlValue(depth int) string {
	switch m.IntN(6) {
	case 0:
		if depth == 0 {
			break
		}
		var b strings.Builder
		b.WriteString("[")
		for range m.IntN(4) {
			if m.often(60) {
				b.WriteString("\n  ")
			}
			b.WriteString(m.tomlValue(depth-1) + ",")
			if m.often(40) {
				b.WriteString(" " + m.comment() + "\n")
			}
		}
		return b.String() + m.one("", "\n", " "+m.comment()+"\n") + "]"
	case 1:
		if depth == 0 {
			break
		}
		return "{ " + m.name() + " = " + m.one("1", `"}"`, "[1, [2]]") + ", " + m.name() + ".x = 'y' }"
	}
	return m.tomlScalar()
}

func (m *maker) tomlLines(b *strings.Builder, count int) {
	for range count {
		if m.often(25) {
			b.WriteString(m.one("\n", m.comment()+"\n", "  "+m.comment()+"\n"))
		}
		key := m.name()
		switch m.IntN(6) {
		case 0:
			key = `"` + key + ` =#"`
		case 1:
			key += m.one(".a", " . 'b'.c")
		}
		b.WriteString(m.one("", "", "  ", "\t") + key + m.one(" = ", "=") + m.tomlValue(2) + m.one("", " "+m.comment()) + "\n")
	}
}

// toml makes a file of Codex's.
func (m *maker) toml() string {
	var b strings.Builder
	m.tomlLines(&b, m.IntN(4))
	if m.often(50) {
		b.WriteString(m.one("model_provider", `"model_provider"`, `'model_provider'`) + m.one(" = ", "=") + m.one(`"openai"`, `'openai'`) + m.one("", " "+m.comment()) + "\n")
	}
	if m.often(20) {
		b.WriteString("notify = [ " + m.comment() + "\n  \"a\", # ]\n]\n")
	}
	if m.often(15) {
		b.WriteString("model_providers.dotted.name = \"d\"\nmodel_providers.dotted.base_url = \"https://d.example\"\n")
	}
	m.tomlLines(&b, m.IntN(3))
	if m.often(20) {
		b.WriteString("[model_providers.breakwater] " + m.comment() + "\nname = 'by hand'\n" + m.one("", "base_url = \"https://b.example\"\n"))
	}
	if m.often(30) {
		b.WriteString("[ model_providers . \"mine\" ]\nname = \"m\"\nbase_url = \"https://m.example/v1\"\n")
	}
	for range m.IntN(4) {
		t := m.name()
		b.WriteString(m.one("", "\n") + m.one("["+t+"]", "[ "+t+" . 'a b' ]", "[["+t+"]]\nx = 1\n[["+t+"]]", "["+t+".deep]") + m.one("", " "+m.comment()) + "\n")
		m.tomlLines(&b, m.IntN(4))
	}
	return m.dress(m.cutEnd(b.String()))
}

// cutEnd takes the last line break off some texts.
func (m *maker) cutEnd(s string) string {
	if m.often(25) {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

// jsonStyle is how a JSON file is laid out.
type jsonStyle struct {
	unit              string
	comments, oneLine bool
}

func (m *maker) gap(st jsonStyle, depth int) string {
	gap := ""
	if !st.oneLine {
		gap = "\n" + strings.Repeat(st.unit, depth)
	}
	if st.comments && m.often(15) {
		m.n++
		c := m.one("/* \"x\": { ", "/* , } ") + strconv.Itoa(m.n) + " */"
		if !st.oneLine && m.often(60) {
			return " // }, \"y " + strconv.Itoa(m.n) + gap
		}
		return " " + c + gap
	}
	return gap
}

func (m *maker) object(st jsonStyle, depth int, fixed ...string) string {
	entries := slices.Clone(fixed)
	for range m.IntN(4) {
		entries = append(entries, `"`+m.name()+m.one("", ".a", " b", `\"`)+`":`+m.one(" ", "")+m.jsonValue(st, depth+1))
	}
	return m.members(st, depth, entries)
}

// members lays an object out.
func (m *maker) members(st jsonStyle, depth int, entries []string) string {
	m.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	if len(entries) == 0 {
		return m.one("{}", "{ }")
	}
	var b strings.Builder
	b.WriteString("{")
	for i, e := range entries {
		b.WriteString(m.gap(st, depth+1) + e)
		if i < len(entries)-1 || st.comments && m.often(30) {
			b.WriteString(",")
		}
	}
	return b.String() + m.gap(st, depth) + "}"
}

func (m *maker) jsonValue(st jsonStyle, depth int) string {
	if depth < 4 && m.often(25) {
		return m.object(st, depth)
	}
	return m.one(`"a"`, `"{ // \" }"`, "1", "-2.5e3", "true", "null", `[1, {"b": [2]}]`, `"é\u00e9"`, "[]", "12345678901234567890")
}

// json makes a file of Claude Code's or opencode's.
func (m *maker) json(id string) string {
	st := jsonStyle{unit: m.one("  ", "    ", "\t"), comments: id == OpenCode && m.often(70), oneLine: m.often(20)}
	if m.often(4) {
		return m.one("", "\n", "{}", "{ }\n")
	}
	if id == OpenCode && m.often(50) {
		return m.dress(m.openCode(st) + "\n")
	}
	var fixed []string
	switch {
	case id == ClaudeCode && m.often(60):
		fixed = append(fixed, `"env": `+m.object(st, 1, m.some(`"NO_PROXY": "intranet"`, `"ANTHROPIC_BASE_URL":"https://g.example"`, `"ANTHROPIC_AUTH_TOKEN": "sk-ant-0123456789"`)...))
	case id == OpenCode && m.often(70):
		options := `"options": ` + m.object(st, 3, m.some(`"baseURL": "https://g.example/v1"`, `"apiKey": "sk-0123456789abcdef"`)...)
		fixed = append(fixed, `"provider": `+m.object(st, 1, m.some(`"anthropic": `+m.object(st, 2, options), `"openai": `+m.object(st, 2), `"mine": {}`)...))
	}
	return m.dress(m.object(st, 0, fixed...) + m.one("\n", "", "\n\n"))
}

// openCode makes a file that opencode itself takes: it refuses names that it
// does not know, except among a provider's options.
func (m *maker) openCode(st jsonStyle) string {
	options := func() string {
		return `"options": ` + m.object(st, 3, m.some(`"baseURL": "https://g.example/v1"`, `"apiKey": "sk-0123456789abcdef"`)...)
	}
	provider := func(name string) string {
		return `"` + name + `": ` + m.members(st, 2, m.some(options(), `"name": "N"`))
	}
	return m.members(st, 0, append(m.some(`"username": "u"`, `"instructions": ["a // b", "c"]`, `"share": "disabled"`),
		`"provider": `+m.members(st, 1, m.some(provider("anthropic"), provider("openai"), provider("mine")))))
}

func (m *maker) some(of ...string) []string {
	return slices.DeleteFunc(of, func(string) bool { return m.often(50) })
}

// yaml makes a file of aider's.
func (m *maker) yaml() string {
	if m.often(15) {
		return m.dress(m.one("{}", "{a: 1}", "{a: [1, 2], openai-api-key: 'sk-0123456789'} "+m.comment(), "{\n  a: {b: c}, "+m.comment()+"\n  d: e\n}") + "\n")
	}
	in := m.one("", "", "", "  ")
	var entries []string
	for range m.IntN(5) {
		k := m.name()
		entries = append(entries, k+": "+m.one("1", "a b", "'c: d'", `"e # f"`, "true", "", "2024-01-02", "~", "a#b")+m.one("", " "+m.comment()),
			k+"l:\n"+in+"  - a\n"+in+"  - b: c "+m.comment()+"\n"+in+"    openai-api-key: no",
			k+"m:\n"+in+"    openai-api-base: no\n"+in+"    x: {y: [1]}",
			k+"t: "+m.one("|", ">", "|-", "|+", ">-")+"\n"+in+"  # no comment\n"+in+"\n"+in+"  openai-api-key: no",
			k+"q: \"over\n"+in+"  lines\"", k+"a: &"+k+" z\n"+in+k+"b: *"+k)
	}
	m.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	entries = entries[:m.IntN(len(entries)+1)]
	entries = append(entries, m.some("openai-api-key: "+m.one("sk-0123456789", "'sk-0123456789'", `"sk-0123456789"`, ">-\n"+in+"  sk-0123456789")+m.one("", "", "\n"+m.comment()), "openai-api-base: https://g.example/v1 "+m.comment())...)
	m.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	var b strings.Builder
	b.WriteString(m.one("", "", "# head\n", "---\n", "%YAML 1.1\n---\n", "\n"))
	for _, e := range entries {
		b.WriteString(m.one("", "", "\n", m.comment()+"\n", in+m.comment()+"\n") + in + e + "\n")
	}
	if len(entries) > 0 && m.often(30) {
		b.WriteString("...\n")
	}
	return m.dress(m.cutEnd(b.String()))
}

func (m *maker) file(id string) (name, text string) {
	switch id {
	case Codex:
		return codexFile, m.toml()
	case Aider:
		return aiderFile, m.yaml()
	case ClaudeCode:
		return claudeFile, m.json(id)
	}
	return openCodeFile, m.json(id)
}

// count is how often a long test runs: less in everyday runs.
func count(variable string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return usual
}

// userTree is a document without the keys that we set.
func userTree(tree map[string]any, c client, t Target) map[string]any {
	if len(c.own) > 0 {
		tree = pruned(without(tree, c.own), c.own)
	}
	for _, e := range c.edits(t, func(path) string { return "" }, func(string) string { return "" }) {
		tree = pruned(without(tree, e.key), e.key)
	}
	return tree
}

// TestGeneratedFilesSurviveWriteAndUndo runs each through write and undo, and
// once more with an edit of the user's between the two.
func TestGeneratedFilesSurviveWriteAndUndo(t *testing.T) {
	dump := os.Getenv("BREAKWATER_SETUP_DUMP") // a folder that gets every file, for other parsers
	for i := range count("BREAKWATER_SETUP_FILES", 160) {
		c := clients[i%len(clients)]
		name, before := newMaker(uint64(i)).file(c.id)
		was, err := edit(c.format, []byte(before))
		if err != nil {
			t.Fatalf("%d: the generator made a bad file: %v\n%q", i, err, before)
		}
		s := rig(t, map[string]string{name: before})
		s.Secrets = vault{}
		if err := s.Write(c.id, here); err != nil {
			t.Errorf("%d: %s: %v\n%q", i, c.id, err, before)
			continue
		}
		written := s.text(t, name)
		now, err := edit(c.format, []byte(written))
		if err != nil || !same(userTree(now.tree, c, here), userTree(was.tree, c, here)) || !contains(c.format.comments(now.body), c.format.comments(was.body)) {
			t.Errorf("%d: %s: %v\n%q\nbecame\n%q", i, c.id, err, before, written)
		}
		if dump != "" {
			ext := filepath.Ext(name)
			for kind, text := range map[string]string{"before": before, "written": written} {
				if err := os.WriteFile(filepath.Join(dump, fmt.Sprintf("%04d-%s.%s%s", i, c.id, kind, ext)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Undo(c.id); err != nil || s.text(t, name) != before {
			t.Errorf("%d: %s: %v\n%q\nbecame\n%q", i, c.id, err, before, s.text(t, name))
			continue
		}
		editBetween(t, i, s, c, name)
	}
}

// editBetween sets a client up, adds something of the user's, and undoes.
func editBetween(t *testing.T, i int, s Setup, c client, name string) {
	t.Helper()
	if err := s.Write(c.id, here); err != nil {
		t.Fatal(err)
	}
	mine, ok := addUserKey(c, s.text(t, name), "user_key")
	if !ok {
		return
	}
	s.put(t, name, mine)
	with, err := edit(c.format, []byte(mine))
	if err != nil {
		t.Fatalf("%d: %v\n%q", i, err, mine)
	}
	done, err := s.Undo(c.id)
	got, bad := edit(c.format, []byte(s.text(t, name)))
	if err != nil || bad != nil || !same(userTree(got.tree, c, here), userTree(with.tree, c, here)) || !contains(c.format.comments(got.body), c.format.comments(with.body)) {
		t.Errorf("%d: %s: %s, %v, %v\n%q\nbecame\n%q", i, c.id, done, err, bad, mine, s.text(t, name))
	}
}

// addUserKey puts a key of the user's at the beginning of a file.
func addUserKey(c client, text, key string) (string, bool) {
	head := ""
	if strings.HasPrefix(text, "\ufeff") {
		head, text = "\ufeff", strings.TrimPrefix(text, "\ufeff")
	}
	switch c.id {
	case Codex:
		text = key + " = 1 # of the user\n" + text
	case Aider:
		root, err := (yamlFormat{}).root([]byte(text))
		if err != nil || root == nil || len(root.Content) == 0 {
			return "", false
		}
		at := offset([]byte(text), root.Content[0])
		entry := key + ": 1"
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			entry += ", "
		} else {
			entry += "\n" + text[lineStart([]byte(text), at):at]
		}
		text = text[:at] + entry + text[at:]
	default:
		obj, err := (jsonFormat{comment: true}).parse([]byte(text))
		if err != nil {
			return "", false
		}
		at, entry := strings.IndexByte(text, '{')+1, "\""+key+"\": 1"
		if len(obj.Members) > 0 {
			entry += ","
		}
		text = text[:at] + entry + text[at:]
	}
	return head + text, true
}

//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/software"

	"breakwater/app/setup"
	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// galleryVar names a folder; with it every page and dialog is drawn there
// without a display, to be looked at. GALLERY_ONLY is a pattern of scenes,
// GALLERY_SIZES, GALLERY_LANGS, GALLERY_THEMES and GALLERY_SCALES are lists.
const galleryVar = "BREAKWATER_GALLERY"

// scene is one thing to look at.
type scene struct {
	name, state, page string
	do                func(b *bench)
}

func pick(name, otherwise string) []string {
	if s := os.Getenv(name); s != "" {
		otherwise = s
	}
	return strings.Split(otherwise, ",")
}

func TestGallery(t *testing.T) {
	folder := os.Getenv(galleryVar)
	if folder == "" {
		t.Skip(galleryVar + " names no folder")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(os.Getenv("GALLERY_ONLY"))
	for _, s := range scenes() {
		if !only.MatchString(s.name) {
			continue
		}
		for _, lang := range pick("GALLERY_LANGS", "en,es,mr") {
			for _, theme := range pick("GALLERY_THEMES", "light,dark") {
				for _, size := range pick("GALLERY_SIZES", "760x520,1000x680,1600x1000") {
					for _, scale := range pick("GALLERY_SCALES", "1,2") {
						t.Run(strings.Join([]string{s.name, lang, theme, size, scale}, "-"), func(t *testing.T) { hang(t, folder, s, lang, theme, size, scale) })
					}
				}
			}
		}
	}
}

// hang draws one picture.
func hang(t *testing.T, folder string, s scene, lang, theme, size, scale string) {
	b := newBench(t, s.state, "")
	t.Setenv(envScale, os.Getenv(envScale)) // put back afterwards
	f := b.fake.settings
	f.Language, f.Theme = lang, theme
	b.fake.settings = f
	b.useSettings(f)
	t.Cleanup(func() { b.useLanguage("en") })
	var w, h int
	if _, err := fmt.Sscanf(size, "%dx%d", &w, &h); err != nil {
		t.Fatal(err)
	}
	times, err := strconv.ParseFloat(scale, 32)
	if err != nil {
		t.Fatal(err)
	}
	b.win.Canvas().(software.WindowlessCanvas).SetScale(float32(times))
	b.win.Resize(fyne.NewSize(float32(w), float32(h)))
	b.goTo(s.page)
	b.win.Canvas().Capture() // lays everything out
	if s.do != nil {
		s.do(b)
	}
	b.redraw()
	for range 2 { // as the real canvas does when a least size changed
		b.win.Resize(fyne.NewSize(float32(w)+1, float32(h)+1))
		b.win.Resize(fyne.NewSize(float32(w), float32(h)))
	}
	b.win.Canvas().Capture()
	file, err := os.Create(filepath.Join(folder, strings.Join([]string{s.name, lang, theme, size, scale}, "-")+".png"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := png.Encode(file, b.win.Canvas().Capture()); err != nil {
		t.Fatal(err)
	}
}

// down scrolls everything in front to its end.
func (b *bench) down() {
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if s, ok := o.(*container.Scroll); ok {
			s.ScrollToBottom()
		}
		return false
	})
}

func (b *bench) runLater() {
	list := b.later
	b.later = nil
	for _, f := range list {
		f()
	}
}

func scenes() []scene {
	var out []scene
	add := func(name, state, page string, do func(b *bench)) { out = append(out, scene{name, state, page, do}) }
	for _, state := range []string{"busy", "well", "empty", "nothing", "paused", "demo"} {
		for _, page := range []string{"overview", "connections", "cooldowns", "combos", "activity"} {
			add(page+"_"+state, state, page, nil)
		}
	}
	add("demo_demo", "demo", "demo", nil)
	for _, state := range []string{"busy", "empty"} {
		add("storage_"+state, state, "overview", func(b *bench) {
			b.fake.snap.Notices = []control.Notice{{Code: "read_only", Text: "?"}, {Code: "permissions_tightened", Text: "?"}}
			b.sync()
		})
	}
	for _, page := range []string{"overview", "connections", "connections/c3", "connections/c4", "cooldowns"} {
		add("refused_"+strings.ReplaceAll(page, "/", "_"), "busy", page, (*bench).statesOfRefusals)
	}
	for _, p := range []string{"general", "clients", "resilience", "rules", "leases", "network"} {
		add("settings-"+p, "busy", "settings/"+p, nil)
		add("settings-"+p+"_end", "busy", "settings/"+p, (*bench).down)
		add("settings-"+p+"_empty", "empty", "settings/"+p, nil)
	}
	for i := 1; i <= 7; i++ {
		add(fmt.Sprintf("detail_c%d", i), "busy", fmt.Sprintf("connections/c%d", i), nil)
		add(fmt.Sprintf("edit_c%d", i), "busy", fmt.Sprintf("connections/c%d", i), func(b *bench) {
			c, _ := b.connectionByID(fmt.Sprintf("c%d", i))
			b.editDialog(c)
		})
		add(fmt.Sprintf("edit_c%d_end", i), "busy", fmt.Sprintf("connections/c%d", i), func(b *bench) {
			c, _ := b.connectionByID(fmt.Sprintf("c%d", i))
			b.editDialog(c)
			b.win.Canvas().Capture()
			b.down()
		})
	}
	for i := range 6 {
		add(fmt.Sprintf("request_%d", i), "busy", fmt.Sprintf("activity/%d", 4000-i), nil)
	}
	for _, p := range []string{"claude", "anthropic", "openai", "glm", "ollama-local", "nobody"} {
		add("provider_"+p, "busy", "providers/"+p, nil)
	}
	for _, p := range []string{"models", "providers", "rules", "breakers"} {
		add("cooldowns-"+p, "busy", "cooldowns/"+p, nil)
		add("cooldowns-"+p+"_empty", "empty", "cooldowns/"+p, nil)
	}
	add("combo_k2", "busy", "combos/k2", nil)
	return append(out, dialogScenes()...)
}

// statesOfRefusals puts connections into the states that refusals lead to (rulings 56, 62).
func (b *bench) statesOfRefusals() {
	for i := range b.fake.snap.Connections {
		switch c := &b.fake.snap.Connections[i]; c.ID {
		case "c1":
			c.ErrorCode, c.Reason, c.Source, c.RawHint, c.Words = 403, "not_api", "ladder", "", "a web page came instead of an answer"
		case "c3":
			c.State, c.ErrorCode, c.Reason = control.StateNeedsAttention, 403, "auth_error"
			c.Words = "OAuth authentication is currently not allowed for this organization. Ask an owner of it to allow it in the settings page."
			c.NeedsAttention = &control.Attention{Since: b.clock.Add(-14 * time.Minute), Words: c.Words}
		case "c4":
			c.State, c.Until, c.ErrorCode, c.Reason = control.StateWrongAddress, nil, 404, "wrong_address"
		case "c5":
			c.Words = "Insufficient credits. Add more in your account."
		}
	}
	b.sync()
}

func dialogScenes() []scene {
	var out []scene
	add := func(name, state, page string, do func(b *bench)) { out = append(out, scene{name, state, page, do}) }
	add("add", "busy", "connections/add", nil)
	add("add_refused", "busy", "connections", func(b *bench) {
		b.addDialog("custom", nil)
		b.fake.refuse = &control.InvalidError{Fields: []control.FieldError{{Field: "name", Message: "a connection of this name exists already"}, {Field: "baseUrl", Message: "must begin with http:// or https://"}, {Field: "apiKey", Message: "must not be empty"}}}
		b.push(view.T("Add"))
	})
	for _, p := range []string{"claude", "openai", "ollama-local", "custom"} {
		add("add_"+p, "busy", "connections", func(b *bench) { b.addDialog(p, nil) })
		add("add_"+p+"_end", "busy", "connections", func(b *bench) { b.addDialog(p, nil); b.win.Canvas().Capture(); b.down() })
	}
	add("add_tested", "busy", "connections", func(b *bench) { b.addDialog("openai", nil); b.push(view.T("Add and test")) })
	add("add_failed", "busy", "connections", func(b *bench) {
		b.addDialog("openai", nil)
		b.fake.result = control.TestResult{StatusCode: 401, Diagnosis: control.Diagnosis{Type: "upstream_auth_error"}, Error: "Incorrect API key provided: sk-…abcd. You can find your API key at https://platform.openai.com/account/api-keys."}
		b.push(view.T("Add and test"))
	})
	add("import", "busy", "connections", func(b *bench) {
		b.env["OPENAI_API_KEY"], b.env["GROQ_API_KEY"], b.env["DEEPSEEK_API_KEY"] = "sk-openai-0000aaaa", "gsk-0000000000bbbb", "sk-deepseek-000000"
		b.goTo("connections/import")
	})
	add("import_none", "empty", "connections/import", nil)
	add("combo_add", "busy", "combos/add", nil)
	add("combo_edit", "busy", "combos", func(b *bench) { pageOf[*combos](b).edit("k1"); b.runLater() })
	add("combo_edit2", "busy", "combos", func(b *bench) { pageOf[*combos](b).edit("k2"); b.runLater() })
	add("combo_wrong", "busy", "combos/add", func(b *bench) { b.push(view.T("Save")) })
	rules := func(b *bench) *ruleSettings { return pageOf[*settings](b).rules }
	add("rule_add", "busy", "settings/rules", func(b *bench) { rules(b).edit(-1) })
	add("rule_edit", "busy", "settings/rules", func(b *bench) { rules(b).edit(0) })
	add("rule_default", "busy", "settings/rules", func(b *bench) { rules(b).editDefault(0) })
	add("rule_menu", "busy", "settings/rules", func(b *bench) { rules(b).pop(fyne.NewPos(700, 200), rules(b).ruleMenu(0)) })
	add("rule_delete", "busy", "settings/rules", func(b *bench) { run(b.t, rules(b).ruleMenu(0), view.T("Delete…")) })
	add("drill", "busy", "combos", func(b *bench) { b.drillDialog(pageOf[*combos](b).combo("k1")) })
	add("drill_many", "busy", "combos", func(b *bench) {
		thirty(b)
		b.goTo("combos")
		c := *pageOf[*combos](b).combo("k1")
		c.Steps = []control.ComboStep{{Combo: "cheap"}}
		b.drillDialog(&c)
	})
	add("drill_done", "busy", "combos", func(b *bench) {
		d := b.drillDialog(pageOf[*combos](b).combo("k1"))
		d.faults[0].kind.SetSelected(view.FaultName("rate_limit"))
		d.faults[0].after.SetText("60")
		d.count.choose(1)
		b.push(view.T("Run the drill"))
	})
	add("delete", "busy", "connections/c3", func(b *bench) { c, _ := b.connectionByID("c3"); b.askDelete(c) })
	add("reset", "busy", "cooldowns", func(b *bench) { askReset(b.ui) })
	add("quit", "busy", "settings/general", func(b *bench) { pageOf[*settings](b).general.quit() })
	add("licences", "busy", "settings/general", func(b *bench) { b.showLicences() })
	add("client_ask", "empty", "settings/clients", func(b *bench) { pageOf[*settings](b).clients.cards[1].ask() })
	add("client_set", "busy", "settings/clients", func(b *bench) {
		pageOf[*settings](b).clients.cards[0].ask()
		b.push(view.T("Set up"))
		row := b.fake.rows[0]
		row.Client, row.At = setup.ClaudeCode, b.clock
		b.activity = append(b.activity, row)
	})
	add("lost", "busy", "overview", func(b *bench) { b.lost = b.clock })
	add("refused", "busy", "overview", func(b *bench) { b.refused = true; b.options.Address = "http://127.0.0.1:7411" })
	add("notray", "busy", "connections", func(b *bench) { b.options.NoTray = true })
	add("said", "busy", "overview", func(b *bench) {
		b.frame.say(problem(errors.New("the provider answered 503 three times in a row and the connection could not be made within forty seconds")))
	})
	add("welcome_key", "empty", "overview", func(b *bench) {
		b.env["ANTHROPIC_API_KEY"] = "sk-ant-0000"
		b.options.StartDemo = nil
		b.build("overview")
	})
	for _, page := range []string{"overview", "connections", "cooldowns", "activity"} {
		add("many_"+page, "busy", page, func(b *bench) { thirty(b); b.goTo(page) })
		add("many_"+page+"_end", "busy", page, func(b *bench) { thirty(b); b.goTo(page); b.win.Canvas().Capture(); b.down() })
	}
	add("many_detail", "busy", "connections/c3", func(b *bench) { thirty(b); b.goTo("connections/m2") })
	return out
}

// thirty makes thirty connections, some with long names.
func thirty(b *bench) {
	shapes := b.fake.snap.Connections
	var list []control.Connection
	for i := range 30 {
		c := shapes[i%len(shapes)]
		c.ID, c.Name, c.Priority = fmt.Sprintf("m%d", i), fmt.Sprintf("%s %d", c.Name, i), i+1
		if i%4 == 2 {
			c.Name += " of the department of long names and longer explanations"
			c.BaseURL = "https://a-rather-long-host-name.gateway.example.internal/v1/with/a/path/of/some/length"
			c.DefaultModel = "organisation/qwen3-coder-480b-a35b-instruct-preview-2026-11"
		}
		list = append(list, c)
	}
	b.fake.snap.Connections = list
	b.sync()
}

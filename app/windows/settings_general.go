//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/i18n"
	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// generalSettings are the product's own settings. Switches act at once; what
// is typed has a Save of its own.
type generalSettings struct {
	u *ui

	theme    *segments
	language *choice
	scale    *choice
	motion   *keyToggle
	notices  *noticeSettings
	profiles *keyToggle
	require  *keyToggle
	banned   *keyToggle
	login    *keyToggle
	loginRow fyne.CanvasObject
	keys     *keySettings
	backup   *backupSettings
	limit    *savedField
	origins  *savedField
	endpoint *copyLine
	version  *text
	data     *copyLine
	dataRow  fyne.CanvasObject
	dataNote *text
}

var (
	themes        = []string{"system", "light", "dark"}
	languages     = []string{"", "en", "es", "mr"}
	languageNames = func() []string { return []string{view.T("System"), "English", "Español", marathi()} }
	// scales are the sizes on offer, in percent; the window rounds to tenths.
	scales = []int{80, 90, 100, 110, 120, 130, 140, 150, 160, 180, 200}
)

// marathi is the name of the language in its own letters, where there is a face
// for them.
func marathi() string {
	if i18n.Lang() == "mr" {
		return "मराठी"
	}
	return "Marathi"
}

func scaleNames() []string {
	return words(scales, func(n int) string { return strconv.Itoa(n) + " %" })
}

func newGeneralSettings(u *ui) *generalSettings {
	p := &generalSettings{u: u, keys: newKeySettings(u), backup: newBackupSettings(u)}
	p.notices = newNoticeSettings(u, p.edit)
	return p
}

func (p *generalSettings) build() fyne.CanvasObject {
	edit := p.edit
	p.theme = newSegments([]string{view.T("System"), view.T("Light"), view.T("Dark")}, 0, func(at int) {
		edit(control.SettingsPatch{Theme: &themes[at]}, nil)
	})
	p.language = newChoice(languageNames(), func(word string) {
		if at := slices.Index(languageNames(), word); at >= 0 {
			edit(control.SettingsPatch{Language: &languages[at]}, nil)
		}
	})
	p.scale = newChoice(scaleNames(), func(word string) {
		if at := slices.Index(scaleNames(), word); at >= 0 {
			edit(control.SettingsPatch{TextScale: &scales[at]}, nil)
		}
	})
	p.motion = newToggle(func(on bool) { edit(control.SettingsPatch{ReducedMotion: &on}, nil) })
	p.profiles = newToggle(func(on bool) { edit(control.SettingsPatch{ClientProfile: &on}, nil) })
	p.require = newToggle(func(on bool) { edit(control.SettingsPatch{RequireAPIKey: &on}, nil) })
	p.banned = newToggle(func(on bool) { edit(control.SettingsPatch{AutoDisableBanned: &on}, nil) })
	p.login = newToggle(p.setLogin)
	p.loginRow = card(view.T("This machine"), nil, switchLine(p.login, view.T("Start at sign-in"), view.T("Breakwater is in the tray as soon as you are at your desktop.")))
	p.limit = newSavedField(p.saveLimit)
	p.origins = newSavedField(p.saveOrigins)
	p.origins.entry.SetPlaceHolder(view.T("none"))
	p.endpoint, p.data = newCopyLine(p.u, view.T("Copy the address")), newCopyLine(p.u, view.T("Copy the path"))
	p.version = newText("", view.RoleText)
	p.dataNote = newCaption("").wrapped()
	p.dataRow = container.New(settingLayout{}, container.New(stack{2}, newText(view.T("Data folder"), view.RoleText).wrapped(), p.dataNote), p.data.box)
	return scrolled(
		card(view.T("Appearance"), nil, container.New(stack{12},
			settingLine(view.T("Theme"), "", rightAligned(p.theme)),
			settingLine(view.T("Language"), "", rightAligned(container.New(sized{width: 160}, p.language.boxed()))),
			settingLine(view.T("Size of text and controls"), "", rightAligned(container.New(sized{width: 160}, p.scale.boxed()))),
			switchLine(p.motion, view.T("Reduced motion"), view.T("Nothing blinks or slides, and countdowns move by ten seconds.")))),
		p.notices.build(),
		card(view.T("Clients"), nil,
			switchLine(p.profiles, view.T("Answer each client in its own way"), view.T("Claude Code, Codex and others each get the status and the wait that they honour. Off, all get the same."))),
		p.loginRow,
		card(view.T("Connections"), nil, switchLine(p.banned, view.T("Switch off what is banned"), view.T("A connection whose account the provider has closed is switched off, so that nothing asks for it again."))),
		card(view.T("Access"), nil, container.New(stack{12},
			switchLine(p.require, view.T("Require an API key"), view.T("Programs on this machine must send a key of Breakwater. Without it, every local program may use your connections.")),
			settingLine(view.T("Allowed web origins"), view.T("Exact origins of local web pages that may call the API, such as http://localhost:5173. Separated by commas."), p.origins.box))),
		p.keys.build(),
		p.backup.build(),
		card(view.T("Activity"), nil, settingLine(view.T("Requests kept"), view.T("Older ones are dropped. Prompts and answers are never kept."), p.limit.box)),
		shortcutCard(),
		card(view.T("About"), nil, container.New(stack{12},
			settingLine(view.T("Version"), "", rightAligned(p.version)), p.u.aboutLines(),
			settingLine(view.T("Endpoint"), view.T("For programs on this machine only."), p.endpoint.box),
			p.dataRow,
			rightAligned(newButton(view.T("Quit Breakwater…"), p.quit)))),
	)
}

func (p *generalSettings) apply() {
	s := p.u.settings
	p.theme.set(max(0, slices.Index(themes, s.Theme)))
	p.language.show(languageNames()[max(0, slices.Index(languages, s.Language))])
	p.scale.show(strconv.Itoa(s.TextScale) + " %")
	p.motion.set(s.ReducedMotion)
	p.notices.apply()
	p.profiles.set(s.ClientProfile)
	p.require.set(s.RequireAPIKey)
	p.banned.set(s.AutoDisableBanned)
	p.limit.show(strconv.Itoa(s.ActivityLimit))
	p.origins.show(strings.Join(s.AllowedOrigins, ", "))
	p.endpoint.set(p.u.snap.Endpoint)
	p.version.set(p.u.snap.Version)
	p.keys.apply()
	p.data.set(p.u.options.DataDir)
	p.dataNote.set(view.DataHint(p.u.snap.SecretsIn))
	show(p.dataRow, p.u.options.DataDir != "")
	show(p.loginRow, p.u.options.Autostart != nil && !p.u.snap.Demo)
	if p.u.options.Autostart != nil {
		p.login.set(p.u.options.Autostart.Enabled())
	}
}

// setLogin switches the start at sign-in.
func (p *generalSettings) setLogin(on bool) {
	if err := p.u.options.Autostart.Set(on); err != nil {
		p.u.frame.say(view.Tf("That did not work: %s", err))
	}
	p.u.redraw()
}

// quit ends the program after asking: where there is no tray, this is the way.
func (p *generalSettings) quit() {
	confirm(p.u.win.Canvas(), view.T("Quit Breakwater?"),
		view.T("Answers that are under way finish first. Until it is started again, your agents reach nobody at its address."),
		view.T("Quit"), func() { p.u.act(p.u.facade.Quit, nil) })
}

// load asks for the keys: others may have changed them.
func (p *generalSettings) load() { p.keys.load() }

func (p *generalSettings) edit(patch control.SettingsPatch, at *savedField) {
	editSettings(p.u, patch, at)
}

// editSettings stores a change; when it is refused the page shows what is
// stored.
func editSettings(u *ui, patch control.SettingsPatch, at *savedField) {
	call(u, func(ctx context.Context) (control.Settings, error) { return u.facade.EditSettings(ctx, patch) },
		func(s control.Settings) {
			if at != nil {
				at.saved()
			}
			u.useSettings(s)
		},
		func(err error) {
			if at != nil {
				at.wrong(fieldMessage(err))
				return
			}
			u.frame.say(problem(err))
			u.redraw()
		})
}

func (p *generalSettings) saveLimit(s string) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 1 {
		p.limit.wrong(view.T("A whole number, 1 or more."))
		return
	}
	p.edit(control.SettingsPatch{ActivityLimit: &n}, p.limit)
}

func (p *generalSettings) saveOrigins(s string) {
	list := view.Words(s)
	if list == nil {
		list = []string{}
	}
	p.edit(control.SettingsPatch{AllowedOrigins: &list}, p.origins)
}

// settingLine is a name with its explanation at the left and a control at the
// right.
func settingLine(name, note string, o fyne.CanvasObject) fyne.CanvasObject {
	words := container.New(stack{2}, newText(name, view.RoleText).wrapped())
	if note != "" {
		words.Add(newCaption(note).wrapped())
	}
	return container.New(settingLayout{}, words, o)
}

// settingLayout gives the control half of the width.
type settingLayout struct{}

func (settingLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	left := size.Width*0.46 - gap
	objects[0].Resize(fyne.NewSize(left, size.Height))
	h := objects[0].MinSize().Height
	objects[0].Resize(fyne.NewSize(left, h))
	objects[0].Move(fyne.NewPos(0, max(0, (min(size.Height, objects[1].MinSize().Height)-h)/2)))
	objects[1].Move(fyne.NewPos(size.Width*0.46+gap, 0))
	objects[1].Resize(fyne.NewSize(size.Width*0.54-gap, objects[1].MinSize().Height))
}

func (settingLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(400, max(objects[0].MinSize().Height, objects[1].MinSize().Height))
}

//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// The quiet hours that the switch begins with.
const (
	usualQuietFrom  = "22:00"
	usualQuietUntil = "07:00"
)

// noticeSettings is the card of the desktop notifications: a switch for all, one
// for each kind, the quiet hours, and in words what that amounts to.
type noticeSettings struct {
	u    *ui
	edit func(control.SettingsPatch, *savedField)

	all         *keyToggle
	kinds       []*keyToggle
	quiet       *keyToggle
	from, until *savedField
	times       fyne.CanvasObject
	more        *fyne.Container
	sum         *text
	box         fyne.CanvasObject
}

func newNoticeSettings(u *ui, edit func(control.SettingsPatch, *savedField)) *noticeSettings {
	return &noticeSettings{u: u, edit: edit}
}

func (p *noticeSettings) build() fyne.CanvasObject {
	p.all = newToggle(func(on bool) { p.edit(control.SettingsPatch{Notifications: &on}, nil) })
	p.sum = newText("", view.RoleText).wrapped()
	p.more, p.kinds = container.New(stack{12}), nil
	for _, k := range view.NoticeKinds() {
		t := newToggle(func(on bool) {
			var patch control.NotificationPatch
			k.Set(&patch, on)
			p.edit(control.SettingsPatch{Notify: &patch}, nil)
		})
		p.kinds = append(p.kinds, t)
		p.more.Add(switchLine(t, k.Label, k.Note))
	}
	p.quiet = newToggle(p.setQuiet)
	p.from = newSavedField(func(s string) {
		p.edit(control.SettingsPatch{Notify: &control.NotificationPatch{QuietFrom: &s}}, p.from)
	})
	p.until = newSavedField(func(s string) {
		p.edit(control.SettingsPatch{Notify: &control.NotificationPatch{QuietUntil: &s}}, p.until)
	})
	p.times = container.New(stack{gap}, settingLine(view.T("Quiet from"), "", p.from.box), settingLine(view.T("Quiet until"), "", p.until.box))
	p.more.Add(switchLine(p.quiet, view.T("Quiet hours"), view.T("Nothing is shown then. What still holds is told in one notification at the end.")))
	p.more.Add(p.times)
	p.box = card(view.T("Notifications"), nil, container.New(stack{12},
		switchLine(p.all, view.T("Desktop notifications"), view.T("Short texts with names and times. What a provider wrote is never in them.")),
		p.sum, p.more))
	return p.box
}

// setQuiet begins with the usual night, or ends the quiet hours.
func (p *noticeSettings) setQuiet(on bool) {
	patch := control.NotificationPatch{QuietFrom: new(""), QuietUntil: new("")}
	if on {
		patch = control.NotificationPatch{QuietFrom: new(usualQuietFrom), QuietUntil: new(usualQuietUntil)}
	}
	p.edit(control.SettingsPatch{Notify: &patch}, nil)
}

func (p *noticeSettings) apply() {
	s := p.u.settings
	p.all.set(s.Notifications)
	p.sum.set(view.NoticeSentence(s))
	for i, k := range view.NoticeKinds() {
		p.kinds[i].set(k.Get(s.Notify))
	}
	quiet := s.Notify.QuietFrom != ""
	p.quiet.set(quiet)
	p.from.show(s.Notify.QuietFrom)
	p.until.show(s.Notify.QuietUntil)
	if p.more.Visible() != s.Notifications || p.times.Visible() != quiet {
		show(p.more, s.Notifications)
		show(p.times, quiet)
		p.box.Refresh()
	}
}

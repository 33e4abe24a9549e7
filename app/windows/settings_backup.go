//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// backupSettings saves the configuration to a file and takes it from one.
type backupSettings struct {
	u        *ui
	path     *field
	pass     *field
	report   *text
	restore  *button
	pending  *control.Backup // looked at, and not yet put in force
	passUsed string
	box      fyne.CanvasObject
}

func newBackupSettings(u *ui) *backupSettings { return &backupSettings{u: u} }

func (p *backupSettings) build() fyne.CanvasObject {
	p.path = newField("")
	if home := p.u.options.Clients.Home; home != "" {
		p.path.SetText(filepath.Join(home, "breakwater-backup.json"))
	}
	p.pass = newSecret(view.T("none: keys are left out"))
	p.report = newText("", view.RoleMuted).wrapped()
	save, look := newButton(view.T("Save to the file"), p.save), newButton(view.T("Look into it"), p.look)
	p.restore = newPrimary(view.T("Restore"), p.apply)
	show(p.restore, false)
	show(p.report, false)
	p.box = card(view.T("Backup"), nil, container.New(stack{12},
		newText(view.T("Connections and settings in one file. With a passphrase the keys are in it, encrypted."), view.RoleMuted).wrapped(),
		settingLine(view.T("File"), "", p.path),
		settingLine(view.T("Passphrase"), view.T("Needed again to restore the keys. At least 8 characters."), p.pass),
		rightAligned(look, save), p.report, rightAligned(p.restore)))
	return p.box
}

// say shows what happened; restorable offers to put the file in force.
func (p *backupSettings) say(s string, r view.Role, restorable bool) {
	p.report.show(s, r)
	show(p.report, s != "")
	show(p.restore, restorable)
	p.box.Refresh()
}

// save writes the configuration to the file, which only its owner may read.
func (p *backupSettings) save() {
	path, pass := p.path.Text, p.pass.Text
	call(p.u, func(ctx context.Context) (string, error) {
		b, err := p.u.facade.Export(ctx, pass)
		if err != nil {
			return "", err
		}
		text, err := json.MarshalIndent(b, "", "  ")
		if err != nil {
			return "", err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.Write(append(text, '\n'))
		return path, errors.Join(err, f.Close())
	}, func(path string) {
		p.say(view.Tf("Saved to %s.", view.ShortPath(path)), view.RoleSuccess, false)
	}, func(err error) { p.say(backupProblem(err), view.RoleError, false) })
}

// look tells what restoring the file would do.
func (p *backupSettings) look() {
	path, pass := p.path.Text, p.pass.Text
	var b control.Backup
	call(p.u, func(ctx context.Context) (control.ImportReport, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return control.ImportReport{}, err
		}
		if err := json.Unmarshal(text, &b); err != nil {
			return control.ImportReport{}, errors.New(view.T("the file is no backup of Breakwater"))
		}
		return p.u.facade.Import(ctx, control.ImportRequest{Backup: b, Passphrase: pass})
	}, func(r control.ImportReport) {
		p.pending, p.passUsed = &b, pass
		p.say(view.ImportWords(r), view.RoleText, true)
	}, func(err error) { p.say(backupProblem(err), view.RoleError, false) })
}

// apply puts the file that was looked at in force.
func (p *backupSettings) apply() {
	if p.pending == nil {
		return
	}
	request := control.ImportRequest{Backup: *p.pending, Passphrase: p.passUsed, DryRun: new(false)}
	p.pending = nil
	call(p.u, func(ctx context.Context) (control.ImportReport, error) { return p.u.facade.Import(ctx, request) },
		func(r control.ImportReport) {
			p.say(view.T("Restored.")+" "+view.ImportWords(r), view.RoleSuccess, false)
			p.u.loadSettings()
		}, func(err error) { p.say(backupProblem(err), view.RoleError, false) })
}

// backupProblem returns an error in words; a file that is there already is not
// written over.
func backupProblem(err error) string {
	if errors.Is(err, os.ErrExist) {
		return view.T("There is a file of this name already. Choose another name.")
	}
	if file, ok := errors.AsType[*os.PathError](err); ok {
		return view.Tf("The file cannot be used: %s.", file.Err)
	}
	return problem(err)
}

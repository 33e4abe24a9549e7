//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// exportPage is how many rows are asked for at a time.
const exportPage = 500

// exportDialog asks where the requests that the filter leaves are to be written.
func (p *activity) exportDialog() {
	u := p.u
	path := newField("")
	if home := u.options.Clients.Home; home != "" {
		path.SetText(filepath.Join(home, "breakwater-activity.csv"))
	}
	what := view.T("All requests that are kept, as a table for a spreadsheet.")
	if p.filter.Any() {
		what = view.T("The requests that the filter leaves, as a table for a spreadsheet.")
	}
	note := newCaption("").wrapped()
	note.Hide()
	var m *modal
	var save *button
	write := func() {
		save.enable(false)
		u.writeActivity(p.filter, strings.TrimSpace(path.Text), func(n int, file string) {
			m.cancel()
			u.frame.tell(view.Tf("%d requests are written to %s.", n, view.ShortPath(file)))
		}, func(err error) {
			save.enable(true)
			note.show(backupProblem(err), view.RoleError)
			note.Show()
			m.Refresh()
		})
	}
	save = newPrimary(view.T("Export"), write)
	path.OnSubmitted = func(string) { write() }
	title := newText(view.T("Export activity"), view.RoleText).bold()
	title.size = 15
	m = openModal(u.win.Canvas(), container.New(inset{20, gapEdge, 16, gapEdge}, container.New(stack{gap},
		title, newText(what+" "+view.T("Prompts, answers, keys and addresses are not in it."), view.RoleMuted).wrapped(),
		newFormLine(view.T("File"), "", path).box, note,
		container.New(inset{8, 0, 0, 0}, rightAligned(newButton(view.T("Cancel"), func() { m.cancel() }), save)))), 480, 0, nil)
	u.win.Canvas().Focus(path)
}

// writeActivity writes every kept request that a filter leaves into a new file.
func (u *ui) writeActivity(f view.ActivityFilter, path string, then func(n int, path string), fail func(error)) {
	prices, now := u.prices, u.now()
	call(u, func(ctx context.Context) (n int, err error) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		defer func() {
			if err = errors.Join(err, file.Close()); err != nil {
				_ = os.Remove(path) // half a table is worse than none
			}
		}()
		out, err := view.NewExport(file, prices, now)
		if err != nil {
			return 0, err
		}
		err = eachActivity(ctx, u.facade, f, func(a control.Activity) error {
			n++
			return out.Add(a)
		})
		return n, errors.Join(err, out.Close())
	}, func(n int) { then(n, path) }, fail)
}

// eachActivity hands over the kept requests that a filter leaves, the newest
// first.
func eachActivity(ctx context.Context, facade control.Facade, f view.ActivityFilter, take func(control.Activity) error) error {
	for before := int64(0); ; {
		list, err := facade.Activity(ctx, f.Query(before, exportPage))
		if err != nil {
			return err
		}
		for i := range list {
			if f.Matches(&list[i]) {
				if err := take(list[i]); err != nil {
					return err
				}
			}
		}
		if len(list) < exportPage {
			return nil
		}
		before = list[len(list)-1].ID
	}
}

// makeTools makes the line above the list: search, the connection, and the export.
func (p *activity) makeTools() fyne.CanvasObject {
	p.search = newField(view.T("Search model, agent, connection, status"))
	p.search.OnChanged = func(s string) { p.narrow(func(f *view.ActivityFilter) { f.Words = s }) }
	p.who = newChoice(nil, func(word string) { p.narrow(func(f *view.ActivityFilter) { f.ConnectionID = p.who.chosen(word) }) })
	p.found = newText("", view.RoleMuted)
	return container.New(line{gap: gap, grow: p.search}, p.search, p.found, container.New(sized{width: 170}, p.who.boxed()),
		newButton(view.T("Export…"), p.exportDialog))
}

// narrow changes the filter and shows what it leaves.
func (p *activity) narrow(change func(*view.ActivityFilter)) {
	was := p.filter
	change(&p.filter)
	if p.filter == was {
		return
	}
	p.whole = false
	p.list.ScrollToTop()
	p.u.redraw()
}

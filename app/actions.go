//go:build cgo || !darwin

package app

import (
	"context"
	"strings"

	"breakwater/app/i18n"
	"breakwater/app/notify"
	"breakwater/app/tray/menu"
	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// do does what a click in the tray asks for.
func (d *desk) do(ctx context.Context, a menu.Action) {
	var err error
	switch a.Kind {
	case menu.None:
	case menu.SetActive:
		err = d.edit(ctx, a, control.ConnectionPatch{Active: &a.On})
	case menu.SetLowPriority:
		err = d.edit(ctx, a, control.ConnectionPatch{LowPriorityMode: &a.On})
	case menu.SetAutoReset:
		err = d.edit(ctx, a, control.ConnectionPatch{AutoLimitReset: &a.On})
	case menu.SetCombo:
		_, err = d.facade.EditCombo(ctx, a.Combo, control.ComboPatch{Active: &a.On})
	case menu.ClearCooldown:
		err = d.facade.ClearCooldown(ctx, a.Connection)
	case menu.TestNow:
		d.work.Go(func() { d.test(ctx, a.Connection) }) // it may take half a minute
	case menu.PauseFor:
		err = d.facade.PauseFor(ctx, a.For)
	case menu.SetPaused:
		err = d.facade.SetPaused(ctx, a.On)
	case menu.OpenWindow:
		d.open(ctx, a.Page)
	case menu.CopyEndpoint:
		d.copy(ctx, a.Text)
	case menu.QuitProgram:
		err = d.facade.Quit(ctx)
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn("a click in the tray failed", "error", err)
		d.center.Say(notify.Message{
			Key:   "tray",
			Title: i18n.T("The change was not made"),
			Body:  i18n.T("Breakwater could not store it; its log says why."),
		})
	}
}

// test asks a connection's provider and tells what it found.
func (d *desk) test(ctx context.Context, id string) {
	name := id
	if s, err := d.facade.Snapshot(ctx); err == nil {
		for _, c := range s.Connections {
			if c.ID == id {
				name = i18n.Name(c.ProviderName, c.Name)
			}
		}
	}
	body := i18n.T("Breakwater could not test it; its log says why.")
	result, err := d.facade.TestConnection(ctx, id)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		d.log.Warn("a test from the tray failed", "error", err)
	default:
		body = view.NewVerdict(result).Text
	}
	d.center.Say(notify.Message{Key: "test/" + id, Title: i18n.T("Test of %s", i18n.Ellipsis(name, 48)), Body: body})
}

func (d *desk) edit(ctx context.Context, a menu.Action, p control.ConnectionPatch) error {
	_, err := d.facade.EditConnection(ctx, a.Connection, p)
	return err
}

// open starts the window, or has the one that is there come to front.
func (d *desk) open(ctx context.Context, page string) {
	if !d.window.open(page) {
		d.show(ctx, page)
	}
}

// show has the window that is there come to front.
func (d *desk) show(ctx context.Context, page string) {
	if err := d.facade.ShowWindow(ctx, page); err != nil {
		d.log.Warn("the window could not be raised", "error", err)
	}
}

// copy puts the endpoint on the clipboard, or shows it where there is none.
func (d *desk) copy(ctx context.Context, endpoint string) {
	err := toClipboard(ctx, endpoint)
	if err == nil {
		return
	}
	d.log.Info("no clipboard", "error", err)
	d.center.Say(notify.Message{
		Key:   "endpoint",
		Title: i18n.T("Point your client at"),
		Body:  strings.TrimSpace(endpoint),
	})
}

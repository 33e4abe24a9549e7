//go:build cgo || !darwin

package app

import (
	"context"
	"strings"

	"breakwater/app/i18n"
	"breakwater/app/notify"
	"breakwater/app/tray/menu"
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

func (d *desk) edit(ctx context.Context, a menu.Action, p control.ConnectionPatch) error {
	_, err := d.facade.EditConnection(ctx, a.Connection, p)
	return err
}

// open starts the window, or has the one that is there come to front.
func (d *desk) open(ctx context.Context, page string) {
	if d.window.open(page) {
		return
	}
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

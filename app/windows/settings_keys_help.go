//go:build (cgo || ci) && !nogui

package windows

import (
	"runtime"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// shortcutCard lists what the keyboard does.
func shortcutCard() fyne.CanvasObject {
	rows := container.New(stack{gapSmall})
	for _, k := range view.Shortcuts(runtime.GOOS == "darwin") {
		keys := newMono(k.Keys)
		rows.Add(container.New(settingLayout{}, newText(k.What, view.RoleText).wrapped(), rightAligned(keys)))
	}
	return card(view.T("Keyboard"), nil, rows)
}

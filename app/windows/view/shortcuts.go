package view

// Shortcut is a key, or several, and what it does.
type Shortcut struct{ Keys, What string }

// Shortcuts lists what the keyboard does in the windows.
func Shortcuts(mac bool) []Shortcut {
	ctrl, alt := "Ctrl", "Alt"
	if mac {
		ctrl, alt = "⌘", "⌥"
	}
	return []Shortcut{
		{ctrl + " 1 … 9", T("Show a page")},
		{ctrl + " N", T("Add a connection")},
		{"Tab", T("Go to the next control; with Shift to the one before")},
		{T("Space, Enter"), T("Press a button, turn a switch, choose a row")},
		{"↑ ↓ PgUp PgDn", T("Go through a list")},
		{"← → Enter", T("In the titles of a table: choose a column, open its menu")},
		{"+ - < >", T("In the titles of a table: make the column wider or narrower, move it")},
		{alt + " ↑ ↓", T("Move a target of a combo up or down")},
		{"M", T("Open the menu of the chosen row")},
		{"D", T("Open the fault drill of the chosen combo")},
		{T("Del"), T("Delete the chosen row, after asking")},
		{"Esc", T("Close a dialog")},
	}
}

package view

import "breakwater/proxy/control"

// Refused says what to do when the Breakwater at an address does not accept
// the window's token.
func Refused(address string) string {
	if address == "" {
		return T("This Breakwater refuses the window's token. Close the window and open it from the tray.")
	}
	return Tf("The Breakwater at %s refuses this window's token. Close the window, print the token there with “breakwater token”, and start the window again with it in BREAKWATER_TOKEN.", address)
}

// keychain is where keys are kept when they are not in a file.
const keychain = "keychain"

// KeyHint says where a key goes that is pasted.
func KeyHint(secretsIn string) string {
	if secretsIn == keychain {
		return T("Kept in the system's keychain and never shown again.")
	}
	return T("Kept in an encrypted file in the data folder and never shown again.")
}

// DataHint says what lies in the data folder.
func DataHint(secretsIn string) string {
	if secretsIn == keychain {
		return T("Connections, settings and activity. Keys are in the system's keychain.")
	}
	return T("Connections, settings and activity. Keys are there, too, in an encrypted file.")
}

// NoTray explains where the icon is, on a desktop that shows none.
func NoTray(system string) string {
	if system == "linux" {
		return T("This desktop shows no tray icon. GNOME needs the extension AppIndicator; sway, i3 and bare window managers need a panel with a tray. Closing this window leaves Breakwater running: start it once more to come back.")
	}
	return T("This desktop shows no tray icon. Closing this window leaves Breakwater running: start it once more to come back.")
}

// NoticeText is a remark about the installation in the user's language, where
// it is one that the windows know.
func NoticeText(n control.Notice) string {
	switch n.Code {
	case "disk_full":
		return T("Changes cannot be saved: the disk is full. Requests go on, but nothing can be changed or recorded until there is free space.")
	case "read_only":
		return T("Changes cannot be saved: the data folder or a file in it cannot be written. Requests go on, but nothing can be changed or recorded; check its permissions and the disk.")
	case "database_busy":
		return T("Changes cannot be saved: another program has locked the database. Requests go on, but nothing can be changed or recorded until that program lets it go.")
	case "database_gone":
		return T("Changes cannot be saved: the database was moved, deleted or replaced while Breakwater ran. Requests go on; put it back, or quit Breakwater and start it again.")
	case "permissions_tightened":
		return T("Other users of this computer could read or change files in the data folder. Only you can now; if others use this computer, replace the keys that are stored.")
	}
	return n.Text
}

// NoticeMark is the shape and colour of a remark: those of an error where
// changes are not kept.
func NoticeMark(n control.Notice) (Shape, Role) {
	if n.Grave() {
		return ShapeCross, RoleError
	}
	return ShapeHalf, RoleWarning
}

// Package app is the desktop beside the proxy: it joins the facade to the tray,
// the notifications and the window process.
package app

// Package desktop is a private desktop for tests: a session bus, a virtual
// display, a panel that reads and clicks the tray menu, and a notification
// server that records.
package desktop

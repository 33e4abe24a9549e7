package app

import "syscall"

// anyProcess is ASFW_ANY of the Windows API.
const anyProcess = 0xffffffff

var allowSetForegroundWindow = syscall.NewLazyDLL("user32.dll").NewProc("AllowSetForegroundWindow")

// LetRaise passes on the right to come to front. Windows gives it to the process
// that the user started or clicked, but the window belongs to another one, which
// would only blink in the task bar.
func LetRaise() {
	if allowSetForegroundWindow.Find() == nil {
		_, _, _ = allowSetForegroundWindow.Call(anyProcess) // refused when we have no such right
	}
}

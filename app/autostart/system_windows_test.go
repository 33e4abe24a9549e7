package autostart

import "testing"

// The true Run key of the account that tests, which gets back what it held.
func TestRunKeyIsMadeRefreshedAndRemoved(t *testing.T) {
	held, err := run{}.read()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		restore := run{}.remove
		if held != "" {
			restore = func() error { return run{}.write(held) }
		}
		if err := restore(); err != nil {
			t.Error(err)
		}
	})
	e := New(`C:\Program Files\Breakwater\breakwater-tray.exe`)
	if err := e.Set(false); err != nil || e.Enabled() {
		t.Fatal("not off: ", err)
	}
	if err := e.Refresh(); err != nil || e.Enabled() {
		t.Error("a refresh must not switch it on: ", err)
	}
	if err := e.Set(true); err != nil || !e.Enabled() {
		t.Fatal("not on: ", err)
	}
	moved := New(`D:\breakwater-tray.exe`, "--data-dir", `D:\my data`)
	if err := moved.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got, err := (run{}).read(); err != nil || got != `"D:\breakwater-tray.exe" "--data-dir" "D:\my data"` {
		t.Errorf("%q %v", got, err)
	}
	for range 2 {
		if err := e.Set(false); err != nil || e.Enabled() {
			t.Error("twice is no error: ", err)
		}
	}
}

//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"breakwater/app/setup"
)

// TestMain opens the real window over made-up state when BREAKWATER_PREVIEW
// names a state (busy, well, empty, nothing, paused, demo), to be looked at:
//
//	go test -c -o preview ./app/windows
//	BREAKWATER_PREVIEW=busy PREVIEW_PAGE=connections PREVIEW_THEME=dark ./preview
func TestMain(m *testing.M) {
	state := os.Getenv("BREAKWATER_PREVIEW")
	if state == "" {
		os.Exit(m.Run())
	}
	f := newFake(state, time.Now())
	f.settings.Theme = os.Getenv("PREVIEW_THEME")
	f.settings.Language = os.Getenv("PREVIEW_LANG")
	err := Run(context.Background(), Options{
		Facade: f, Page: os.Getenv("PREVIEW_PAGE"), Theme: f.settings.Theme, Language: f.settings.Language, DataDir: "/home/you/.local/share/breakwater",
		Clients: setup.Setup{Dir: os.TempDir(), Home: os.TempDir() + "/preview-home", Getenv: func(string) string { return "" }},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	os.Exit(0)
}

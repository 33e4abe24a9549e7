package i18n

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Preferred returns the language that the user's system is set to, empty where
// it does not say. The environment, where it says something, comes first: a
// program that was started from the Dock has none.
func Preferred() string {
	if lang := System(os.Getenv); lang != "" {
		return lang
	}
	return systemSetting()
}

// systemSetting is asked once: a change takes effect at the next sign-in.
var systemSetting = sync.OnceValue(func() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/usr/bin/defaults", "read", "-g", "AppleLocale").Output()
	if err != nil {
		return ""
	}
	return base(string(out))
})

package i18n

import (
	"os"

	"golang.org/x/sys/windows"
)

// Preferred returns the language that the user's system is set to, empty where
// it does not say. The environment, where it says something, comes first.
func Preferred() string {
	if lang := System(os.Getenv); lang != "" {
		return lang
	}
	names, err := windows.GetUserPreferredUILanguages(windows.MUI_LANGUAGE_NAME)
	if err != nil || len(names) == 0 {
		return ""
	}
	return base(names[0])
}

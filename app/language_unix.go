//go:build !windows && !darwin

package app

import (
	"os"

	"breakwater/app/i18n"
)

// systemLanguage is the language that the environment asks for.
func systemLanguage() string { return i18n.System(os.Getenv) }

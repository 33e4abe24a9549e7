//go:build windows || darwin

package app

import (
	"os"
	"sync"

	"github.com/jeandeaual/go-locale"

	"breakwater/app/i18n"
)

// systemLanguage is the language that the system is set to; the environment,
// where it says something, comes first. It is asked once: a change of the
// system's language takes effect at the next sign-in anyway.
var systemLanguage = sync.OnceValue(func() string {
	if lang := i18n.System(os.Getenv); lang != "" {
		return lang
	}
	lang, err := locale.GetLanguage()
	if err != nil {
		return ""
	}
	return lang
})

//go:build !windows && !darwin

package i18n

import "os"

// Preferred returns the language that the user's system is set to, empty where
// it does not say.
func Preferred() string { return System(os.Getenv) }

package cli

import (
	"cmp"
	"errors"
	"flag"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// notShown stands where an argument was that may be a secret.
const notShown = "(an argument that is not shown)"

// historyAdvice follows an error that such an argument led to.
const historyAdvice = "; if that was a key or a password, take it out of your shell's history"

var (
	// secretStart is how keys, tokens and signed logins of the known vendors begin.
	secretStart = regexp.MustCompile(`(?i)^(sk|rk|pk|key|gsk|xai|hf|ghp|gho|ghs|github_pat|glpat|pplx|r8|nvapi|vlo|rt|oat)[-_].|^AIza|^eyJ|^Bearer\b`)
	// urlLogin is an address with a user name or a password.
	urlLogin = regexp.MustCompile(`://[^/@]+@`)
	// ownID is an id that Breakwater has given, which is no secret.
	ownID = regexp.MustCompile(`^[A-Z2-7]{26}$`)
	// longRun is what keys have and words have not; it counts when it mixes
	// letters and digits.
	longRun = regexp.MustCompile(`[A-Za-z0-9]{16,}`)
	// plainWord is what a mistyped command or flag looks like.
	plainWord = regexp.MustCompile(`^[a-z][a-z-]{0,23}$`)
)

// looksSecret reports whether a word may be a key, a token or an address with
// a password. It is generous: a name that is hidden in vain costs little.
func looksSecret(word string) bool {
	switch {
	case secretStart.MatchString(word), urlLogin.MatchString(word):
		return true
	case ownID.MatchString(word), strings.ContainsAny(word, `/\`):
		return false
	}
	return slices.ContainsFunc(longRun.FindAllString(word, -1), func(run string) bool {
		return strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != strings.ToUpper(run)
	})
}

// Hush takes every argument that looks like a secret out of a text, and tells
// what to do when one was there: errors end on screens, in logs and in bug
// reports.
func Hush(text string, args []string) string {
	hushed := hush(text, args)
	if hushed != text {
		hushed += historyAdvice
	}
	return hushed
}

func hush(text string, args []string) string {
	for _, arg := range args {
		words := []string{arg}
		if _, value, ok := strings.Cut(arg, "="); ok {
			words = append(words, value)
		}
		for _, w := range words {
			if looksSecret(w) {
				text = strings.ReplaceAll(text, strconv.Quote(w), notShown)
				text = strings.ReplaceAll(text, w, notShown)
			}
		}
	}
	return text
}

// Named shows a word that may be a mistyped command, and nothing that may be
// a secret.
func Named(word string) string {
	if plainWord.MatchString(word) && !looksSecret(word) {
		return strconv.Quote(word)
	}
	return notShown
}

// TooMany refuses a word at a place, counted from 1. It is not shown: who puts
// a key there did not know that keys are never arguments.
func TooMany(place int, word string) error {
	advice := ""
	switch {
	case Has(word):
		return usage("the command comes first, then what belongs to it: breakwater %s …", word)
	case looksSecret(word):
		advice = historyAdvice
	}
	return usage("argument %d is one too many (not shown, it may be a key)%s", place, advice)
}

var (
	flagUnknown = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	flagValue   = regexp.MustCompile(`(?s)^invalid (?:boolean )?value .* for (?:flag )?-([a-z-]+): (.*)$`)
	flagNeeds   = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	// secretFlag is a flag that people expect for a secret.
	secretFlag = regexp.MustCompile(`key|token|secret|password|auth`)
)

// FlagError puts an error of package flag into words that do not show values.
// What is not known to be harmless is not shown.
func FlagError(err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if m := flagUnknown.FindStringSubmatch(text); m != nil {
		advice := ""
		if secretFlag.MatchString(m[1]) {
			advice = "; a key is never an argument, see --key-stdin and --key-env of breakwater connections" + historyAdvice
		}
		if !plainWord.MatchString(m[1]) || looksSecret(m[1]) {
			return usage("there is no such flag%s", cmp.Or(advice, historyAdvice))
		}
		return usage("there is no flag --%s%s", m[1], advice)
	}
	if m := flagNeeds.FindStringSubmatch(text); m != nil {
		return usage("--%s needs a value", m[1])
	}
	if m := flagValue.FindStringSubmatch(text); m != nil {
		why := m[2]
		if why == "parse error" || why == "value out of range" {
			why = "this is no value for it"
		}
		return usage("--%s: %s", m[1], why)
	}
	return usage("a flag cannot be read")
}

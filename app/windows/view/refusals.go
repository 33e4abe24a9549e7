package view

import (
	"regexp"
	"strconv"
)

var figures = regexp.MustCompile(`\d+`)

// Refusal returns what the proxy says of a field, in the user's language where
// it is one of the things that the forms of the window meet; other messages
// stay as they came, in English.
func Refusal(message string) string {
	var n []any
	plain := figures.ReplaceAllStringFunc(message, func(s string) string {
		v, err := strconv.Atoi(s)
		if err != nil {
			return s
		}
		n = append(n, v)
		return "%d"
	})
	if s := refusal(plain); s != "" && s != plain {
		return T(s, n...)
	}
	return message
}

// refusal translates a message with its figures left open.
func refusal(s string) string {
	switch s {
	case "must not be empty":
		return T("must not be empty")
	case "must not contain a slash, control characters or signs that nobody sees":
		return T("must not contain a slash, control characters or signs that nobody sees")
	case "must not contain control characters or signs that nobody sees":
		return T("must not contain control characters or signs that nobody sees")
	case "another connection has this name":
		return T("another connection has this name")
	case "the base URL leads to another host; give the key for it again":
		return T("the base URL leads to another host; give the key for it again")
	case "a key is needed":
		return T("a key is needed")
	case "must not contain spaces, line breaks or special characters":
		return T("must not contain spaces, line breaks or special characters")
	case "must be a URL that begins with http:// or https://":
		return T("must be a URL that begins with http:// or https://")
	case "this is Breakwater itself; give the address of a provider":
		return T("this is Breakwater itself; give the address of a provider")
	case "this is Breakwater itself; give the address of an outbound proxy":
		return T("this is Breakwater itself; give the address of an outbound proxy")
	case "must be in the future; isActive switches a key off":
		return T("must be in the future; isActive switches a key off")
	case "needs a status, a match, or both":
		return T("needs a status, a match, or both")
	case "does not open the backup's secrets, or they are damaged":
		return T("does not open the backup's secrets, or they are damaged")
	}
	return counted(s)
}

// counted is refusal for messages with figures.
func counted(s string) string {
	switch s {
	case "a base URL is needed, such as https://llm.example.com/v%d":
		return T("a base URL is needed, such as https://llm.example.com/v%d")
	case "at most %d characters":
		return T("at most %d characters")
	case "at most %d characters, no control characters":
		return T("at most %d characters, no control characters")
	case "at most %d plain characters":
		return T("at most %d plain characters")
	case "%d to %d characters":
		return T("%d to %d characters")
	case "at most %d patterns":
		return T("at most %d patterns")
	case "at most %d patterns of %d to %d characters":
		return T("at most %d patterns of %d to %d characters")
	case "each pattern has %d to %d characters":
		return T("each pattern has %d to %d characters")
	case "at most %d tags of %d to %d characters":
		return T("at most %d tags of %d to %d characters")
	case "at most %d rules total":
		return T("at most %d rules total")
	case "must have %d to %d characters":
		return T("must have %d to %d characters")
	case "must be a whole number from %d to %d":
		return T("must be a whole number from %d to %d")
	case "the port is a number from %d to %d":
		return T("the port is a number from %d to %d")
	case "%d to %d, %d for no cap":
		return T("%d to %d, %d for no cap")
	case "%d to %d minutes":
		return T("%d to %d minutes")
	case "%d to %d percent":
		return T("%d to %d percent")
	}
	return ""
}

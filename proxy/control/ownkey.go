package control

import (
	"fmt"
	"hash/crc32"
	"strings"
)

const (
	tokenPrefix = "bwk_"
	tokenLength = len(tokenPrefix) + 2*26
	keyPrefix   = "sk-"
	keyBody     = len(keyPrefix) + 26 + 1 + 6 // what the checksum covers
	keyLength   = keyBody + 1 + 8
)

// HoldsOwnKey reports whether a text holds a management token or an API key that
// a Breakwater made: this one or another, in force or not. Such a text goes to no
// provider (ruling 33). Both are known by their form.
func HoldsOwnKey(text string) bool {
	return holds(text, tokenPrefix, tokenLength, isToken) || holds(text, keyPrefix, keyLength, isKey)
}

// holds reports whether a piece of the text has this prefix, length and form.
func holds(text, prefix string, length int, form func(string) bool) bool {
	for {
		at := strings.Index(text, prefix)
		if at < 0 || len(text)-at < length {
			return false
		}
		if form(text[at : at+length]) {
			return true
		}
		text = text[at+1:]
	}
}

func isToken(s string) bool {
	return strings.Trim(s[len(tokenPrefix):], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

func isKey(s string) bool {
	return s[keyBody] == '-' && s[keyBody-7] == '-' &&
		s[keyBody+1:] == fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(s[:keyBody])))
}

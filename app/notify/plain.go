package notify

import "strings"

// plain makes a text safe for the notifiers of Windows and macOS. Their last
// resort builds a script from a template, in which a connection's name such as
// "$(…)" would be run; the characters that mean something to PowerShell,
// AppleScript or XML are replaced by others that look alike.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '$':
			return '＄'
		case '`', '\'', '"', '“', '”', '‘', '‚', '‛', '„':
			return '’'
		case '\\':
			return '/'
		case '<':
			return '‹'
		case '>':
			return '›'
		case '&':
			return '+'
		case '[':
			return '('
		case ']':
			return ')'
		case '\n':
			return '\n'
		}
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

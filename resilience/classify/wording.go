package classify

import (
	"slices"
	"strings"
)

// sequence is words that follow one another on one line. within bounds the
// bytes between two neighbours; 0 leaves them free.
type sequence struct {
	words  []string
	within int
}

// wording is a list of ways to say one thing, in lower case. Plain searches
// keep the verdict cheap: every error body is held against all of the lists.
type wording struct {
	phrases   []string
	sequences []sequence
}

// in reports whether the text says it in one of the ways.
func (w wording) in(text string) bool {
	if containsAny(text, w.phrases) {
		return true
	}
	for _, s := range w.sequences {
		if s.in(text) {
			return true
		}
	}
	return false
}

func (s sequence) in(text string) bool {
	first := s.words[0]
	for {
		i := strings.Index(text, first)
		if i < 0 {
			return false
		}
		line := text[i+len(first):]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		if s.follows(line) {
			return true
		}
		if s.within > 0 {
			text = text[i+len(first):]
		} else {
			text = text[i+len(first)+len(line):] // a later start on this line finds no more
		}
	}
}

// follows reports whether the words after the first come in line.
func (s sequence) follows(line string) bool {
	for _, word := range s.words[1:] {
		window := line
		if s.within > 0 && len(window) > s.within+len(word) {
			window = window[:s.within+len(word)]
		}
		i := strings.Index(window, word)
		if i < 0 {
			return false
		}
		line = line[i+len(word):]
	}
	return true
}

// then returns every word of a followed by every word of b.
func then(a, b []string, within int) []sequence {
	var list []sequence
	for _, first := range a {
		for _, second := range b {
			list = append(list, sequence{[]string{first, second}, within})
		}
	}
	return list
}

// near returns every word of a with every word of b, in either order.
func near(a, b []string, within int) []sequence {
	return append(then(a, b, within), then(b, a, within)...)
}

// chain returns the sequences that end in each of the last words.
func chain(words []string, last ...string) []sequence {
	var list []sequence
	for _, l := range last {
		list = append(list, sequence{words: append(slices.Clip(words), l)})
	}
	return list
}

// join puts lists of sequences together.
func join(lists ...[]sequence) []sequence {
	var all []sequence
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func words(w ...string) []string { return w }

// Package autostart starts Breakwater when the user signs in, in each system's
// own way.
package autostart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// id names the entry, as the packages and the desktop file do.
const id = "io.breakwater.app"

// Entry is what is started at sign-in.
type Entry struct {
	// Program is the absolute path of the program, Args what follows it.
	Program string
	Args    []string
	place   place
}

// place is where a system keeps such entries.
type place interface {
	read() (string, error) // empty when there is none
	write(text string) error
	remove() error
	text(e Entry) string
}

// New returns the entry of this system for a program.
func New(program string, args ...string) Entry {
	return Entry{Program: program, Args: args, place: system()}
}

// Enabled reports whether the user's session starts the program.
func (e Entry) Enabled() bool {
	text, err := e.place.read()
	return err == nil && text != ""
}

// Set makes or removes the entry.
func (e Entry) Set(on bool) error {
	if !on {
		if err := e.place.remove(); err != nil {
			return fmt.Errorf("remove the start at sign-in: %w", err)
		}
		return nil
	}
	if err := e.place.write(e.place.text(e)); err != nil {
		return fmt.Errorf("set up the start at sign-in: %w", err)
	}
	return nil
}

// Refresh writes an entry that is there anew when the program has moved since.
func (e Entry) Refresh() error {
	text, err := e.place.read()
	if err != nil || text == "" || text == e.place.text(e) {
		return err
	}
	return e.Set(true)
}

// file keeps an entry in a file of its own.
type file struct {
	path   string
	render func(Entry) string
}

func (f file) text(e Entry) string { return f.render(e) }

func (f file) read() (string, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

func (f file) write(text string) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.path, []byte(text), 0o644)
}

// remove deletes the file, and its folder when nothing else lies there: on a
// fresh account it was made for this entry.
func (f file) remove() error {
	err := os.Remove(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = os.Remove(filepath.Dir(f.path)) // fails when others keep theirs there
	}
	return err
}

// desktopEntry is the file of the XDG autostart specification.
func desktopEntry(e Entry) string {
	return "[Desktop Entry]\nType=Application\nName=Breakwater\nComment=Keeps coding agents working when a model provider fails\n" +
		"Exec=" + execLine(e) + "\nIcon=" + id + "\nTerminal=false\nX-GNOME-Autostart-enabled=true\n"
}

// execLine quotes a command as the desktop entry specification wants it: each
// word in double quotes, with backslashes before what a shell would read, and
// these doubled once more as in every string of the file. A percent sign begins
// a field code and is doubled.
func execLine(e Entry) string {
	words := append([]string{e.Program}, e.Args...)
	for i, w := range words {
		w = strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", `$`, `\\$`, `%`, `%%`).Replace(w)
		words[i] = `"` + w + `"`
	}
	return strings.Join(words, " ")
}

// launchAgent is the property list that launchd reads at sign-in.
func launchAgent(e Entry) string {
	var b strings.Builder
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n" +
		"<plist version=\"1.0\">\n<dict>\n\t<key>Label</key>\n\t<string>" + id + "</string>\n\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, w := range append([]string{e.Program}, e.Args...) {
		b.WriteString("\t\t<string>")
		_ = xml.EscapeText(&b, []byte(w)) // a strings.Builder takes everything
		b.WriteString("</string>\n")
	}
	b.WriteString("\t</array>\n\t<key>RunAtLoad</key>\n\t<true/>\n\t<key>ProcessType</key>\n\t<string>Interactive</string>\n</dict>\n</plist>\n")
	return b.String()
}

// runLine is the command line of a value below Windows' Run key. Paths hold no
// quotation marks there.
func runLine(e Entry) string {
	words := append([]string{e.Program}, e.Args...)
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	return strings.Join(words, " ")
}

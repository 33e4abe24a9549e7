package build

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// App is what FyneApp.toml says about the program: the one source of its name,
// id, version and icon, for the program itself and for every package.
type App struct {
	Name        string // as people read it
	ID          string // reverse domain name; names desktop entry, bundle and agent
	Version     string // MAJOR.MINOR.PATCH, and -SUFFIX before a release
	Build       int    // counts the packages of one version
	Icon        string // path of the PNG, relative to FyneApp.toml
	Description string // one sentence
	GenericName string
	Comment     string
	Categories  []string // of the desktop menu
	Keywords    []string
}

// ReadApp reads FyneApp.toml, of which it knows tables, strings, numbers and
// lists of strings on one line. Unknown keys are left alone. It returns an error
// for a line it cannot read and when name, id, version or icon is missing.
func ReadApp(toml string) (App, error) {
	values, err := readTables(toml)
	if err != nil {
		return App{}, err
	}
	a := App{Categories: values.list("LinuxAndBSD.Categories"), Keywords: values.list("LinuxAndBSD.Keywords")}
	for key, into := range map[string]*string{
		"Details.Name": &a.Name, "Details.ID": &a.ID, "Details.Version": &a.Version, "Details.Icon": &a.Icon,
		"Description": &a.Description, "LinuxAndBSD.GenericName": &a.GenericName, "LinuxAndBSD.Comment": &a.Comment,
	} {
		*into = values.text(key)
	}
	if b := values["Details.Build"]; b != "" {
		if a.Build, err = strconv.Atoi(b); err != nil {
			return App{}, fmt.Errorf("the build number: %w", err)
		}
	}
	if a.Name == "" || a.ID == "" || a.Version == "" || a.Icon == "" {
		return App{}, errors.New("name, ID, version and icon must be given")
	}
	return a, nil
}

// Stamp gives the program the version of its FyneApp.toml, which main embeds.
func Stamp(toml string) {
	a, err := ReadApp(toml)
	if err != nil {
		panic("FyneApp.toml: " + err.Error()) // it is compiled in: a mistake in the build
	}
	Version = a.Version
}

// tables holds the raw values of a file by TABLE.KEY.
type tables map[string]string

func readTables(toml string) (tables, error) {
	out, table := tables{}, ""
	for i, line := range strings.Split(toml, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			table = strings.Trim(line, "[] ") + "."
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok {
				return nil, fmt.Errorf("line %d: neither a table nor a key: %q", i+1, line)
			}
			out[table+strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return out, nil
}

// text returns a string, empty when it is missing or not one.
func (t tables) text(key string) string {
	s, err := strconv.Unquote(t[key])
	if err != nil {
		return ""
	}
	return s
}

// list returns a list of strings.
func (t tables) list(key string) []string {
	var out []string
	for item := range strings.SplitSeq(strings.Trim(t[key], "[]"), ",") {
		if s, err := strconv.Unquote(strings.TrimSpace(item)); err == nil {
			out = append(out, s)
		}
	}
	return out
}

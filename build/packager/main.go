// Command packager makes the packages that people install.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const usage = `build/package [FLAGS] [TARGET...]: make packages of the commit that is checked out.

Targets:
  static        the program without windows, for Linux, Windows and macOS, amd64 and arm64;
                static-linux-amd64 and its like for one of them
  linux-amd64   the desktop program: a .deb and a portable archive
  linux-arm64   the same for arm64
  windows       the desktop and the console program: a zip and an installer
  macos         the .app in a zip, for both architectures; on a Mac
  licences      only write build/licences.txt.gz anew, from the modules that are linked

Without a target: everything this machine can build. CC names the C compiler of a
foreign platform, PKG_CONFIG_LIBDIR its libraries.

Flags:
`

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		say("build/package: %v", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("build/package", flag.ContinueOnError)
	fs.Usage = func() { fmt.Fprint(fs.Output(), usage); fs.PrintDefaults() }
	out := fs.String("out", "dist", "put the packages into this `folder`")
	version := fs.String("version", "", "use this `version` in place of the one of FyneApp.toml, to try an upgrade")
	twice := fs.Bool("twice", false, "make everything a second time, from another folder and without what go has compiled before, and compare")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if slices.Equal(fs.Args(), []string{"licences"}) {
		return writeLicences(ctx, ".")
	}
	made, err := makeAll(ctx, *version, fs.Args(), false)
	if err != nil {
		return err
	}
	if *twice {
		again, err := makeAll(ctx, *version, fs.Args(), true)
		if err != nil {
			return err
		}
		if err := same(made, again); err != nil {
			return err
		}
	}
	return write(*out, made)
}

// writeLicences brings the list of licences up to date with go.mod.
func writeLicences(ctx context.Context, root string) error {
	modules, err := linkedModules(ctx, root)
	if err != nil {
		return err
	}
	if modules, err = withFonts(modules, root); err != nil {
		return err
	}
	small, err := squeeze([]byte(licenceText(modules)))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(licenceFile)), small, 0o644)
}

// target is one thing that can be asked for.
type target struct {
	name string
	make func(*maker, context.Context) error
}

// targets stand in the order in which they are made.
var targets = []target{
	{"static", (*maker).static},
	{"linux-amd64", func(m *maker, ctx context.Context) error { return m.linux(ctx, "amd64") }},
	{"linux-arm64", func(m *maker, ctx context.Context) error { return m.linux(ctx, "arm64") }},
	{"windows", (*maker).windows},
	{"macos", (*maker).macos},
}

// named returns the targets that were asked for, all when none was.
func named(names []string) ([]target, error) {
	if len(names) == 0 {
		return targets, nil
	}
	var out []target
	for _, n := range names {
		at := slices.IndexFunc(targets, func(t target) bool { return t.name == n })
		only := slices.IndexFunc(static, func(p platform) bool { return n == "static-"+p.String() })
		switch {
		case at >= 0:
			out = append(out, targets[at])
		case only >= 0:
			out = append(out, target{n, func(m *maker, ctx context.Context) error { return m.headlessOf(ctx, static[only]) }})
		default:
			return nil, fmt.Errorf("there is no target %q; see build/package --help", n)
		}
	}
	return out, nil
}

// makeAll makes the targets, or whatever can be made here when none is named.
// fresh compiles everything anew: what lies in go's cache would be the same for
// no other reason.
func makeAll(ctx context.Context, version string, names []string, fresh bool) (made tree, err error) {
	wanted, err := named(names)
	if err != nil {
		return nil, err
	}
	s, err := checkout(ctx, ".", version)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	s.fresh = fresh
	if changes, err := output(ctx, ".", nil, "git", "status", "--porcelain"); err == nil && changes != "" {
		say("note: the packages hold commit %.12s; changes that are not committed are left out", s.commit)
	}
	m := &maker{source: s}
	if m.modules, err = linkedModules(ctx, s.dir); err != nil {
		return nil, err
	}
	for _, t := range wanted {
		err := t.make(m, ctx)
		if len(names) == 0 && (errors.Is(err, errNoCompiler) || errors.Is(err, errNoNSIS)) {
			say("left out: %v", err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return m.made, nil
}

// same compares two makings.
func same(a, b tree) error {
	a, b = a.sorted(), b.sorted()
	if len(a) != len(b) {
		return fmt.Errorf("the second time %d files were made, the first time %d", len(b), len(a))
	}
	for i := range a {
		if a[i].name != b[i].name || string(a[i].data) != string(b[i].data) {
			return fmt.Errorf("%s is not the same the second time", a[i].name)
		}
	}
	say("%d files made twice are the same, byte for byte", len(a))
	return nil
}

// write puts the packages into a folder, and beside them the sums of all that
// lie there.
func write(dir string, made tree) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range made {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, os.FileMode(f.mode())); err != nil {
			return err
		}
		say("%s", filepath.Join(dir, f.name))
	}
	sums, err := checksums(dir)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sumFile), []byte(sums), 0o644)
	}
	return err
}

// release reports whether a file of the folder is one of ours.
func release(name string) bool { return strings.HasPrefix(name, "breakwater") }

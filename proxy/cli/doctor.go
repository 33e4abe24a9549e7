package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"breakwater/build"
	"breakwater/proxy/control"
)

// SecretsPlace says where secrets are kept.
type SecretsPlace struct {
	Where  string // empty before the first start
	Why    string
	Chosen bool // by the user, and not for want of a keychain
}

// LocalChecks are what the doctor looks at without a running Breakwater. They
// leave everything as it was.
type LocalChecks struct {
	// Dir returns the data folder that is meant.
	Dir func(w Where) (string, error)
	// Database examines the database of a folder and tells its size and schema.
	Database func(ctx context.Context, dir string) (string, error)
	// Secrets opens the secrets of a folder and tells where they are kept, also
	// when that fails.
	Secrets func(ctx context.Context, dir string) (SecretsPlace, error)
	// Writable tries whether the folder and its database can be written.
	Writable func(dir string) error
	// Remedy is what the user can do about an error of the three above.
	Remedy func(err error) string
	// Address returns where the Breakwater of a folder listens.
	Address func(dir string) (string, error)
	Port    int    // that clients expect
	Home    string // of the user, for the clients' own files
	Now     func() time.Time
}

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Fine    Severity = "ok"
	Remark  Severity = "warning"
	Problem Severity = "problem"
	Skipped Severity = "skipped"
)

// Finding is what one check came to.
type Finding struct {
	Check string   `json:"check"`
	State Severity `json:"status"`
	Found string   `json:"found"`
	Do    string   `json:"do,omitempty"` // what the user can do
}

// report collects findings.
type report struct{ list []Finding }

func (r *report) ok(check, format string, args ...any) {
	r.list = append(r.list, Finding{check, Fine, fmt.Sprintf(format, args...), ""})
}

func (r *report) add(s Severity, check, found, do string) {
	r.list = append(r.list, Finding{check, s, found, do})
}

func (r *report) worst() Severity {
	worst := Fine
	for _, f := range r.list {
		if f.State == Problem || f.State == Remark && worst == Fine {
			worst = f.State
		}
	}
	return worst
}

func doctor(fs *flag.FlagSet) action {
	offline := fs.Bool("offline", false, "do not ask the providers whether the connections work")
	return func(ctx context.Context, c *call) error {
		if err := c.none(); err != nil {
			return err
		}
		r := &report{}
		c.examine(ctx, r, *offline)
		err := c.print(map[string]any{"status": r.worst(), "version": build.Version, "checks": r.list}, func(w io.Writer) { r.write(w) })
		if err == nil && r.worst() == Problem {
			err = errFound
		}
		return err
	}
}

func (r *report) write(w io.Writer) {
	signs := map[Severity]string{Fine: "ok     ", Remark: "note   ", Problem: "problem", Skipped: "skipped"}
	for _, f := range r.list {
		fmt.Fprintf(w, "%s  %-13s %s\n", signs[f.State], f.Check, f.Found)
		if f.Do != "" {
			fmt.Fprintf(w, "%-24s%s\n", "", f.Do)
		}
	}
	switch r.worst() {
	case Problem:
		fmt.Fprintln(w, "\nThere is something to mend.")
	case Remark:
		fmt.Fprintln(w, "\nNothing is broken; see the notes.")
	default:
		fmt.Fprintln(w, "\nAll is well.")
	}
}

// examine runs every check, the ones that others rest on first.
func (c *call) examine(ctx context.Context, r *report, offline bool) {
	l := c.Local
	dir, err := l.Dir(c.where)
	if err != nil {
		r.add(Problem, "data folder", err.Error(), "Name one with --data-dir.")
		return
	}
	fresh := checkFolder(r, dir)
	if fresh {
		r.add(Skipped, "database", "there is none yet", "")
		r.add(Skipped, "secrets", "there are none yet", "")
	} else {
		checkDatabase(ctx, r, l, dir)
		checkSecrets(ctx, r, l, dir)
	}
	url, err := l.Address(dir)
	running := err == nil && alive(ctx, url)
	checkPort(ctx, r, l.Port, url, running)
	checkProxyEnv(r, c.Getenv)
	checkClients(r, c.Getenv, l.Home, url, l.Port)
	var f control.Facade
	if running {
		if f, err = c.open(ctx); err != nil {
			r.add(Problem, "running", err.Error(), "Quit it from its tray and start it again.")
		}
	}
	checkClock(ctx, r, l.Now, dir, f)
	if f == nil {
		r.add(Skipped, "connections", "Breakwater does not run", "Start it with breakwater, or breakwater --headless.")
		return
	}
	checkVersion(ctx, r, f)
	checkConnections(ctx, r, f, offline)
}

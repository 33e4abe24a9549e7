package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"breakwater/build"
	"breakwater/proxy/control"
)

// checkFolder reports whether the data folder is not there yet.
func checkFolder(r *report, dir string) (fresh bool) {
	const check = "data folder"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		r.ok(check, "%s, made at the first start", dir)
		return true
	case err != nil:
		r.add(Problem, check, err.Error(), "Make it readable for you, or name another with --data-dir.")
	case !info.IsDir():
		r.add(Problem, check, dir+" is not a folder", "Move the file away.")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		r.add(Remark, check, fmt.Sprintf("%s can be read by others (%v)", dir, info.Mode().Perm()), "chmod 700 "+dir)
	default:
		r.ok(check, "%s", dir)
	}
	return false
}

func checkDatabase(ctx context.Context, r *report, l LocalChecks, dir string) {
	found, err := l.Database(ctx, dir)
	if err != nil {
		r.add(Problem, "database", err.Error(), l.Remedy(err))
		return
	}
	if err := l.Writable(dir); err != nil {
		r.add(Problem, "database", "cannot be written: "+err.Error(), l.Remedy(err))
		return
	}
	r.ok("database", "%s", found)
}

// checkSecrets names the place in use and why it is that one.
func checkSecrets(ctx context.Context, r *report, l LocalChecks, dir string) {
	const check = "secrets"
	at, err := l.Secrets(ctx, dir)
	where := map[string]string{"file": "in an encrypted file in the data folder, its key beside it", "keychain": "in the system's keychain"}[at.Where]
	switch {
	case err != nil:
		found := err.Error()
		if where != "" {
			found = "they are " + where + ", " + at.Why + ": " + found
		}
		r.add(Problem, check, found, l.Remedy(err))
	case at.Where == "":
		r.add(Skipped, check, "there are none yet", "")
	case at.Where == "file" && !at.Chosen:
		r.add(Remark, check, where+", "+at.Why, "Nothing to do; where there is a keychain (such as GNOME Keyring or KWallet), a new data folder uses that.")
	default:
		r.ok(check, "%s, %s", where, at.Why)
	}
}

// patience is how long the doctor waits for an answer of this machine.
const patience = 3 * time.Second

// alive reports whether a Breakwater answers at the address.
func alive(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/hello", nil)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// checkPort says who holds the port (case P57).
func checkPort(ctx context.Context, r *report, port int, base string, running bool) {
	const check = "port"
	if running {
		if u, err := url.Parse(base); err == nil && u.Port() != strconv.Itoa(port) {
			r.add(Remark, check, "Breakwater listens at "+base+", clients expect port "+strconv.Itoa(port), "Start it with --port "+strconv.Itoa(port)+", or point the clients at "+base+".")
			return
		}
		r.ok(check, "Breakwater listens at %s", base)
		return
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			_ = l.Close() // it was only a trial
			continue
		}
		if host == "::1" && !isTaken(err) {
			continue // a system without IPv6
		}
		if alive(ctx, "http://"+net.JoinHostPort(host, strconv.Itoa(port))) {
			r.add(Problem, check, fmt.Sprintf("port %d of %s is held by another Breakwater, with another data folder", port, host), "Quit that one (the demo: breakwater quit --demo), or start with --port and point the clients there.")
			return
		}
		do := "End the program that holds it, or start with --port and point the clients there."
		if runtime.GOOS != "windows" {
			do += " \"lsof -i :" + strconv.Itoa(port) + "\" names it."
		}
		r.add(Problem, check, fmt.Sprintf("port %d of %s is held by another program", port, host), do)
		return
	}
	r.ok(check, "port %d is free", port)
}

func isTaken(err error) bool {
	text := err.Error()
	return strings.Contains(text, "in use") || strings.Contains(text, "Only one usage")
}

// checkProxyEnv finds a system proxy that would catch requests to this machine
// (case P58).
func checkProxyEnv(r *report, env func(string) string) {
	const check = "proxy"
	var set []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		if env(name) != "" || env(strings.ToLower(name)) != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		r.ok(check, "no proxy is set in the environment")
		return
	}
	no := env("NO_PROXY") + "," + env("no_proxy")
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if !strings.Contains(no, host) && !strings.Contains(","+no+",", ",*,") {
			r.add(Remark, check, strings.Join(set, ", ")+" is set and NO_PROXY lacks "+host+": clients may send their requests to the proxy", noProxyLine(runtime.GOOS))
			return
		}
	}
	r.ok(check, "%s is set, and NO_PROXY leaves this machine out", strings.Join(set, ", "))
}

// noProxyLine is what the user types in the usual shell of a system.
func noProxyLine(goos string) string {
	if goos == "windows" {
		return `$env:NO_PROXY = "127.0.0.1,localhost,::1"`
	}
	return "export NO_PROXY=127.0.0.1,localhost,::1"
}

// checkClock compares the clock with what is certain to be past.
func checkClock(ctx context.Context, r *report, now func() time.Time, dir string, f control.Facade) {
	const check = "clock"
	const do = "Set the system's clock; cooldowns and expiries depend on it."
	at := now()
	if at.Year() < 2025 {
		r.add(Problem, check, "it says "+at.UTC().Format(time.RFC3339), do)
		return
	}
	if f != nil {
		rows, err := f.Activity(ctx, control.ActivityQuery{Limit: 1})
		if err == nil && len(rows) > 0 && rows[0].At.Sub(at) > time.Minute {
			r.add(Problem, check, "it is behind the last request in the log, of "+rows[0].At.UTC().Format(time.RFC3339), do)
			return
		}
	}
	if last := lastWrite(dir); last.Sub(at) > time.Minute {
		r.add(Problem, check, "it is behind the last write in the data folder, of "+last.UTC().Format(time.RFC3339), do)
		return
	}
	r.ok(check, "%s", at.UTC().Format(time.RFC3339))
}

// lastWrite is when a file of the folder was last written, zero when that
// cannot be told.
func lastWrite(dir string) (last time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return last // the check of the folder says so
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

func checkVersion(ctx context.Context, r *report, f control.Facade) {
	snap, err := f.Snapshot(ctx)
	switch {
	case err != nil:
		r.add(Problem, "running", err.Error(), "Quit it from its tray and start it again.")
	case snap.Version != build.Version:
		r.add(Remark, "running", "version "+snap.Version+"; this program is "+build.Version, "Quit the one that runs and start this one.")
	case snap.Paused:
		r.add(Remark, "running", "it is paused", "Resume it from its tray menu, or with POST /api/app/pause.")
	default:
		r.ok("running", "version %s", snap.Version)
	}
	for _, n := range snap.Notices {
		if n.Grave() {
			r.add(Problem, "storage", n.Text, mend(n.Code))
			continue
		}
		r.add(Remark, "notice", n.Text, "")
	}
}

// mend is what the user can do about a fault of the storage.
func mend(kind string) string {
	switch kind {
	case "database_damaged":
		return "Quit Breakwater, move the file away, and put a copy (*.bak) in its place or start with an empty one."
	case "read_only":
		return "Make the data folder and its files writable for you; changes are saved again within ten seconds."
	case "database_busy":
		return "Close the program that has the database open; changes are saved again within ten seconds."
	case "database_gone":
		return "Put the file or the folder back where it was, or quit Breakwater and start it again."
	}
	return "Make some room on the disk of the data folder; changes are saved again within ten seconds."
}

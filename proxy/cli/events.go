package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
)

func otherCommands() []command {
	return []command{
		{"events", "", "", "print what happens as it happens, until interrupted", printEvents},
		{"doctor", "", "", "check the installation and say what to do", doctor},
		{"backup", "", "FILE", "copy the database to a new file, also while Breakwater runs; keys are not in it", plain(backup)},
		{"restore", "", "FILE", "put a copy in the place of the database; Breakwater must not run", restore},
		{"completion", "", "SHELL", "print the completion for bash, zsh or fish", plain(completion)},
	}
}

func printEvents(fs *flag.FlagSet) action {
	var kinds words
	fs.Var(&kinds, "kind", "only events of this `kind`: "+strings.Join(eventKinds(), ", ")+"; may come several times")
	count := fs.Int("count", 0, "end after so many events; 0 goes on")
	return func(ctx context.Context, c *call) error {
		if err := c.none(); err != nil {
			return err
		}
		if *count < 0 {
			return usage("--count: a number from 0 on")
		}
		for _, k := range kinds {
			if !slices.Contains(eventKinds(), k) {
				return usage("there are no events of the kind %s", Named(k))
			}
		}
		f, err := c.open(ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events, err := f.Subscribe(ctx)
		if err != nil {
			return err
		}
		for n := 0; *count == 0 || n < *count; {
			e, ok := <-events
			if !ok {
				return nil
			}
			if len(kinds) > 0 && !slices.Contains(kinds, string(e.Type)) || len(kinds) == 0 && !c.json && e.Type == control.EventSnapshot {
				continue
			}
			n++
			if err := c.event(e); err != nil {
				return err
			}
		}
		return nil
	}
}

func eventKinds() []string {
	var out []string
	for _, k := range []control.EventType{
		control.EventSnapshot, control.EventActivity, control.EventAlert, control.EventBreaker, control.EventCooldown,
		control.EventLockout, control.EventLane, control.EventLease, control.EventSettings,
	} {
		out = append(out, string(k))
	}
	return out
}

// event prints one line.
func (c *call) event(e control.Event) error {
	if c.json {
		return json.NewEncoder(c.Out).Encode(e)
	}
	_, err := io.WriteString(c.Out, time.Now().Format("15:04:05 ")+printable(describe(e))+"\n")
	return err
}

func describe(e control.Event) string {
	switch {
	case e.Activity != nil:
		a := e.Activity
		return fmt.Sprintf("request   %s %s: %s %d by %s in %d ms", a.Path, a.Model, a.Result, a.Status, orNobody(a.ConnectionName), a.DurationMs)
	case e.Alert != nil:
		return describeAlert(*e.Alert)
	case e.Snapshot != nil:
		return fmt.Sprintf("snapshot  %s, %d connections", e.Snapshot.Health, len(e.Snapshot.Connections))
	case e.Change != nil:
		g := e.Change
		return spaced(fmt.Sprintf("%-9s", e.Type), g.Provider, g.ConnectionName, g.Model, g.To, g.Reason, lasting(g.Until))
	}
	return string(e.Type)
}

// describeAlert says of whom an alert is, and until when.
func describeAlert(a control.Alert) string {
	combo, quota := "", a.Window
	if a.Combo != "" {
		combo = "combo " + a.Combo
	}
	if a.PercentLeft != nil {
		quota = strings.TrimSpace(fmt.Sprintf("%s %d %% left", a.Window, *a.PercentLeft))
	}
	return spaced("alert    ", string(a.Kind), a.ProviderName, a.ConnectionName, combo, a.Dialect, string(a.State), a.Reason, quota, lasting(a.Until))
}

// lasting is the time until t behind its word, empty for none.
func lasting(t *time.Time) string {
	if t == nil {
		return ""
	}
	return "for " + left(t)
}

// spaced joins the parts that there are.
func spaced(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

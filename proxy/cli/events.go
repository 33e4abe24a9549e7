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
	_, err := io.WriteString(c.Out, time.Now().Format("15:04:05 ")+describe(e)+"\n")
	return err
}

func describe(e control.Event) string {
	switch {
	case e.Activity != nil:
		a := e.Activity
		return fmt.Sprintf("request   %s %s: %s %d by %s in %d ms", a.Path, a.Model, a.Result, a.Status, orNobody(a.ConnectionName), a.DurationMs)
	case e.Alert != nil:
		return fmt.Sprintf("alert     %s %s%s", e.Alert.Kind, e.Alert.ProviderName, e.Alert.ConnectionName)
	case e.Snapshot != nil:
		return fmt.Sprintf("snapshot  %s, %d connections", e.Snapshot.Health, len(e.Snapshot.Connections))
	case e.Change != nil:
		g := e.Change
		parts := []string{fmt.Sprintf("%-9s", e.Type)}
		for _, p := range []string{g.Provider, g.ConnectionName, g.Model, g.To, g.Reason} {
			if p != "" {
				parts = append(parts, p)
			}
		}
		if g.Until != nil {
			parts = append(parts, "for "+left(g.Until))
		}
		return strings.Join(parts, " ")
	}
	return string(e.Type)
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

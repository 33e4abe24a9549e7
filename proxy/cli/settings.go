package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

func settingsCommands() []command {
	const g = "settings"
	return []command{
		{g, "show", "[PATH]", "show the settings, or those below a path such as requestQueue", plain(showSettings)},
		{g, "set", "PATH=VALUE…", "change settings; the value null goes back to the default", plain(setSettings)},
	}
}

// tree returns all settings as one object.
func (c *call) tree(ctx context.Context) (tree, resilience map[string]any, origins map[string]any, err error) {
	f, err := c.open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := f.AllSettings(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	deep, err := f.Resilience(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if tree, err = object(all); err != nil {
		return nil, nil, nil, err
	}
	if resilience, err = object(deep); err != nil {
		return nil, nil, nil, err
	}
	origins = map[string]any{}
	for _, m := range []map[string]any{tree, resilience} {
		from, _ := m["origins"].(map[string]any)
		maps.Copy(origins, from)
		delete(m, "origins")
	}
	return tree, resilience, origins, nil
}

// object is a value as JSON has it, numbers as they are written.
func object(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out map[string]any
	err = dec.Decode(&out)
	return out, err
}

func showSettings(ctx context.Context, c *call) error {
	if len(c.args) > 1 {
		return TooMany(2, c.args[1])
	}
	own, resilience, origins, err := c.tree(ctx)
	if err != nil {
		return err
	}
	maps.Copy(own, resilience)
	var at any = own
	path := ""
	if len(c.args) == 1 {
		path = c.args[0]
		for part := range strings.SplitSeq(path, ".") {
			m, _ := at.(map[string]any)
			if at = m[part]; at == nil {
				return fmt.Errorf("there is no setting %q", path)
			}
		}
	}
	return c.print(at, func(w io.Writer) {
		for _, leaf := range leaves(path, at) {
			origin, _ := origins[leaf.path].(string)
			fmt.Fprintf(w, "%s=%s", leaf.path, leaf.value)
			if origin != "" && origin != "default" {
				fmt.Fprintf(w, "  (%s)", origin)
			}
			fmt.Fprintln(w)
		}
	})
}

type leaf struct{ path, value string }

// leaves lists the values of a tree by their paths.
func leaves(path string, v any) []leaf {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		raw, err := json.Marshal(v)
		if err != nil {
			raw = []byte("?")
		}
		return []leaf{{path, string(raw)}}
	}
	var out []leaf
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := k
		if path != "" {
			at = path + "." + k
		}
		out = append(out, leaves(at, m[k])...)
	}
	return out
}

// setSettings sorts the assignments into the two patches, by the first word of
// their paths.
func setSettings(ctx context.Context, c *call) error {
	if len(c.args) == 0 {
		return usage("PATH=VALUE is missing")
	}
	_, resilience, _, err := c.tree(ctx)
	if err != nil {
		return err
	}
	own, deep := map[string]any{}, map[string]any{}
	for i, a := range c.args {
		path, text, ok := strings.Cut(a, "=")
		if !ok || path == "" {
			return usage("argument %d is not of the form PATH=VALUE", i+1)
		}
		first, _, _ := strings.Cut(path, ".")
		into := own
		if _, is := resilience[first]; is {
			into = deep
		}
		if err := put(into, path, value(text)); err != nil {
			return err
		}
	}
	if len(own) > 0 {
		var patch control.AllSettingsPatch
		withDefaults("", own)
		raw, err := json.Marshal(own)
		if err != nil {
			return err
		}
		if err := strictly(raw, &patch, "setting"); err != nil {
			return err
		}
		if _, err := c.facade.EditAllSettings(ctx, patch); err != nil {
			return withGiven(err, raw)
		}
	}
	if len(deep) > 0 {
		raw, err := json.Marshal(deep)
		if err != nil {
			return err
		}
		if _, err := c.facade.EditResilience(ctx, raw); err != nil {
			return withGiven(err, raw)
		}
	}
	return c.print(map[string]bool{"ok": true}, func(w io.Writer) { fmt.Fprintln(w, "Changed.") })
}

// withDefaults puts the default into the place of every null: the facade's patch
// takes null for a field that is absent.
func withDefaults(prefix string, patch map[string]any) {
	for name, v := range patch {
		if inner, ok := v.(map[string]any); ok {
			withDefaults(prefix+name+".", inner)
		} else if raw, ok := control.SettingDefault(prefix + name); ok && v == nil {
			patch[name] = raw
		}
	}
}

// value reads JSON, and takes everything else for a text.
func value(text string) any {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if !json.Valid([]byte(text)) || dec.Decode(&v) != nil {
		return text
	}
	return v
}

func put(m map[string]any, path string, v any) error {
	parts := strings.Split(path, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := m[p].(map[string]any)
		if m[p] != nil && !ok {
			return usage("%s is given twice", path)
		}
		if next == nil {
			next = map[string]any{}
			m[p] = next
		}
		m = next
	}
	m[cmp.Or(parts[len(parts)-1], path)] = v
	return nil
}

//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"fmt"
	"slices"

	"breakwater/proxy/control"
)

func (f *fake) Keys(context.Context) ([]control.APIKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.keys)
	for i := range out {
		out[i].Key = out[i].Key[:6] + "…"
	}
	return out, nil
}

func (f *fake) AddKey(_ context.Context, in control.KeyInput) (control.APIKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refused(); err != nil {
		return control.APIKey{}, err
	}
	k := control.APIKey{ID: fmt.Sprintf("key%d", len(f.keys)+1), Name: in.Name, Key: "bw-abcdef-whole", Active: true}
	f.keys = append(f.keys, k)
	return k, nil
}

func (f *fake) EditKey(_ context.Context, id string, p control.KeyPatch) (control.APIKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("key %s %v", id, *p.Active)
	if err := f.refused(); err != nil {
		return control.APIKey{}, err
	}
	i := slices.IndexFunc(f.keys, func(k control.APIKey) bool { return k.ID == id })
	f.keys[i].Active = *p.Active
	return f.keys[i], nil
}

func (f *fake) DeleteKey(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("delete key %s", id)
	f.keys = slices.DeleteFunc(f.keys, func(k control.APIKey) bool { return k.ID == id })
	return f.refused()
}

func (f *fake) Export(_ context.Context, passphrase string) (control.Backup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("export %q", passphrase)
	return control.Backup{Format: 1, Connections: []control.ConnectionInput{{Name: "work"}}}, f.refused()
}

func (f *fake) Import(_ context.Context, in control.ImportRequest) (control.ImportReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dry := in.DryRun == nil || *in.DryRun
	f.note("import %v %q", dry, in.Passphrase)
	r := control.ImportReport{DryRun: dry, Settings: true}
	for _, c := range in.Backup.Connections {
		r.Connections = append(r.Connections, control.ImportConnection{Name: c.Name, Action: control.ImportAdd})
	}
	return r, f.refused()
}

package facadetest

import (
	"context"

	"breakwater/proxy/control"
)

// Export returns the connections, and a seal that holds nothing when a
// passphrase is given.
func (f *Fake) Export(ctx context.Context, passphrase string) (control.Backup, error) {
	err := f.enter(ctx, "Export")
	defer f.mu.Unlock()
	b := control.Backup{Format: 1, Settings: control.SettingsPatch{Theme: &f.settings.Theme}, Connections: []control.ConnectionInput{}}
	for _, c := range f.snap.Connections {
		b.Connections = append(b.Connections, control.ConnectionInput{Provider: c.Provider, Name: c.Name, Priority: c.Priority})
	}
	if passphrase != "" {
		b.Secrets = &control.SealedSecrets{KDF: "none"}
	}
	return b, err
}

// Import adds the connections whose names are free.
func (f *Fake) Import(ctx context.Context, in control.ImportRequest) (control.ImportReport, error) {
	err := f.enter(ctx, "Import")
	rep := control.ImportReport{DryRun: in.DryRun == nil || *in.DryRun, Connections: []control.ImportConnection{}, Combos: []control.ImportCombo{}, Settings: true}
	if err == nil && in.Backup.Format != 1 {
		err = control.Invalid("backup.format", "this version reads format 1")
	}
	var fresh []control.ConnectionInput
	for _, c := range in.Backup.Connections {
		row := control.ImportConnection{Name: c.Name, Action: control.ImportAdd}
		switch {
		case f.named(c.Name, ""):
			row.Action = control.ImportSkip
		case c.Provider == "anthropic" && c.APIKey == "":
			row.Action, row.Errors = control.ImportRefuse, []control.FieldError{{Field: "apiKey", Message: "a key is needed"}}
		default:
			fresh = append(fresh, c)
		}
		rep.Connections = append(rep.Connections, row)
	}
	f.mu.Unlock()
	if err != nil || rep.DryRun {
		return rep, err
	}
	for _, c := range fresh {
		if _, err := f.AddConnection(ctx, c); err != nil {
			return rep, err
		}
	}
	return rep, nil
}

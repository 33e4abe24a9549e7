package facadetest

import (
	"errors"
	"slices"
	"testing"

	"breakwater/proxy/control"
)

// backups checks that an export comes back, that a dry run changes nothing, and
// that keys travel only sealed.
func backups(t *testing.T, f control.Facade) {
	ctx := t.Context()
	add(t, f, "A")
	b, err := f.Export(ctx, "")
	if err != nil || b.Format != 1 || len(b.Connections) != 1 || b.Connections[0].Name != "A" || b.Connections[0].APIKey != "" || b.Secrets != nil {
		t.Fatalf("Export = %+v, %v", b, err)
	}
	sealed, err := f.Export(ctx, "a long passphrase")
	if err != nil || sealed.Secrets == nil {
		t.Fatalf("Export with a passphrase = %+v, %v", sealed, err)
	}
	with := func(name, key string) control.ConnectionInput {
		return control.ConnectionInput{Provider: "anthropic", Name: name, APIKey: key}
	}
	b.Connections = append(b.Connections, with("B", "key-of-B"), with("C", ""))
	want := []string{control.ImportSkip, control.ImportAdd, control.ImportRefuse}
	for _, req := range []control.ImportRequest{{Backup: b}, {Backup: b, DryRun: new(true)}, {Backup: b, DryRun: new(false)}} {
		rep, err := f.Import(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range rep.Connections {
			got = append(got, c.Action)
		}
		if !slices.Equal(got, want) || !rep.Settings || rep.Connections[2].Errors[0].Field != "apiKey" {
			t.Errorf("Import = %+v, want %v", rep, want)
		}
		names := names(t, f)
		if rep.DryRun != (req.DryRun == nil || *req.DryRun) || slices.Contains(names, "B") == rep.DryRun || slices.Contains(names, "C") {
			t.Errorf("dry run %v leaves %v", rep.DryRun, names)
		}
	}
	snap, err := f.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range snap.Connections {
		if c.Name == "B" {
			if err := f.DeleteConnection(ctx, c.ID); err != nil {
				t.Error(err)
			}
		}
	}
	_, err = f.Import(ctx, control.ImportRequest{Backup: control.Backup{Format: 9}})
	if _, ok := errors.AsType[*control.InvalidError](err); !ok {
		t.Errorf("another format: %v, want an InvalidError", err)
	}
}

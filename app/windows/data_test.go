//go:build (cgo || ci) && !nogui

package windows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"breakwater/proxy/control"
)

func TestKeysAreMadeShownOnceSwitchedAndDeleted(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	p := pageOf[*settings](b).general.keys
	b.wantShown("API keys", "None yet.")
	b.push("New key")
	if len(b.fake.keys) != 0 {
		t.Fatal("a key without a name was made")
	}
	p.name.SetText(" editor ")
	b.push("New key")
	b.wantShown("editor", "bw-abcdef-whole", "Copy it now: it is never shown whole again.", "bw-abc…")
	p.rows.rows[0].cells[0].(*toggle).flip()
	if !b.fake.did("key key1 false") || p.keys[0].Active {
		t.Error(b.fake.calls)
	}
	p.rows.rows[0].cells[4].(*iconButton).onTap()
	b.wantShown("Delete the key editor?")
	b.push("Delete")
	if !b.fake.did("delete key key1") || len(p.keys) != 0 {
		t.Error(b.fake.calls)
	}
}

func TestBackupIsSavedLookedIntoAndRestored(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	p := pageOf[*settings](b).general.backup
	file := filepath.Join(b.options.Clients.Home, "breakwater-backup.json")
	p.pass.SetText("long enough")
	p.save()
	b.wantShown("Saved to ~/breakwater-backup.json.")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || !b.fake.did(`export "long enough"`) {
		t.Error(info, err, b.fake.calls)
	}
	p.save()
	b.wantShown("There is a file of this name already.")
	p.look()
	b.wantShown("Restoring it would do this. Added: work. Settings: taken over.")
	if !b.fake.did(`import true "long enough"`) || b.fake.did(`import false "long enough"`) {
		t.Error(b.fake.calls)
	}
	b.push("Restore")
	b.wantShown("Restored. Added: work.")
	if !b.fake.did(`import false "long enough"`) {
		t.Error(b.fake.calls)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.look()
	b.wantShown("the file is no backup of Breakwater")
	p.path.SetText("/nowhere/at/all")
	p.look()
	b.wantShown("The file cannot be used: ")
	b.fake.refuse = control.Invalid("passphrase", "too short")
	p.path.SetText(filepath.Join(b.options.Clients.Home, "other.json"))
	p.save()
	b.wantShown("passphrase: too short")
	if _, err := os.Stat(p.path.Text); err == nil || strings.Contains(b.words(), "Saved to") {
		t.Error("a file was left: ", err)
	}
}

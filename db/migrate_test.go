package db

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
)

// later returns the real history and n invented steps after it.
func later(n int) []migration {
	steps := slices.Clone(migrations)
	for i := range n {
		steps = append(steps, migration{name: "later", sql: []string{
			fmt.Sprintf("ALTER TABLE provider_connections ADD COLUMN later%d text", i),
			fmt.Sprintf("UPDATE provider_connections SET later%d = name", i),
		}})
	}
	return steps
}

func backups(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.bak*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMigrationKeepsACopy(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := backups(t, dir); len(n) != 0 {
		t.Fatalf("copies of a new file: %v", n)
	}
	s2, err := openWith(t.Context(), testOptions(dir), later(1))
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, s2, "PRAGMA user_version"); n != len(migrations)+1 {
		t.Errorf("schema %d", n)
	}
	if n := count(t, s2, "SELECT count(*) FROM provider_connections WHERE later0 = 'Work a'"); n != 1 {
		t.Error("the row did not migrate")
	}
	if err := s2.Close(); err != nil {
		t.Fatal(err)
	}
	copies := backups(t, dir)
	want := []string{filepath.Join(dir, fmt.Sprintf("breakwater.db.20300102T030405Z.v%d.bak", len(migrations)))}
	if diff := cmp.Diff(want, copies); diff != "" {
		t.Fatal(diff)
	}
	// The copy is a whole database that the old version opens.
	old := t.TempDir()
	if err := os.WriteFile(filepath.Join(old, FileName), []byte(contentOf(t, copies[0])), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := connections(t, open(t, old)); len(list) != 1 || list[0].Name != "Work a" {
		t.Errorf("the copy holds %+v", list)
	}
}

func TestLastTwoCopiesAreKept(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		o := testOptions(dir)
		o.Now = func() time.Time { return t0.Add(time.Duration(i) * time.Hour) }
		s, err := openWith(t.Context(), o, later(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, c := range backups(t, dir) {
		names = append(names, strings.Split(filepath.Base(c), ".")[2])
	}
	if got := strings.Join(names, " "); got != "20300102T060405Z 20300102T070405Z" {
		t.Errorf("copies %s", got)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bad := append(slices.Clone(migrations), migration{name: "bad", sql: []string{"DROP TABLE key_value", "DROP TABLE nothing"}})
	if _, err := openWith(t.Context(), testOptions(dir), bad); err == nil || !strings.Contains(err.Error(), "(bad)") {
		t.Fatalf("got %v", err)
	}
	s = open(t, dir)
	if len(connections(t, s)) != 1 {
		t.Error("a row is gone")
	}
	if err := s.SaveSetting(t.Context(), "k", []byte("1")); err != nil {
		t.Error(err)
	}
}

// TestModelsFitTheSchema has GORM make its own schema from the models, and
// compares it with the migrated one.
func TestModelsFitTheSchema(t *testing.T) {
	o := testOptions(t.TempDir())
	path := filepath.Join(o.Dir, "models.db")
	if err := touchPrivate(path); err != nil {
		t.Fatal(err)
	}
	g, err := openPool(path, writePool, o.Log, o.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closePool(g) }()
	if err := g.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
	s := open(t, t.TempDir())
	if diff := cmp.Diff(schemaOf(t, g), schemaOf(t, s.write)); diff != "" {
		t.Errorf("models (-) and migrations (+) differ:\n%s", diff)
	}
}

// schemaOf lists every column and index of a database.
func schemaOf(t *testing.T, g *gorm.DB) map[string][]string {
	t.Helper()
	var rows []struct{ Tbl, Entry string }
	err := g.WithContext(context.Background()).Raw(`
		SELECT m.name AS tbl, c.name || ' ' || lower(c.type) || ' notnull=' || (c."notnull" OR c.pk > 0 AND lower(c.type) = 'text')
			|| ' default=' || coalesce(trim(c.dflt_value, '"'''), '') || ' pk=' || c.pk AS entry
		FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'
		UNION ALL
		SELECT m.tbl_name, m.name || ' on ' || i.name
		FROM sqlite_master m JOIN pragma_index_info(m.name) i WHERE m.type = 'index' AND m.sql IS NOT NULL
		ORDER BY 1, 2`).Scan(&rows).Error
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string][]string{}
	for _, r := range rows {
		schema[r.Tbl] = append(schema[r.Tbl], r.Entry)
	}
	if len(schema) != len(models) {
		t.Fatalf("%d tables", len(schema))
	}
	return schema
}

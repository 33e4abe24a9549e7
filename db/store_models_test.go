package db

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
)

// releasedBeforeLists is how many steps the schema had before the lists were kept.
const releasedBeforeLists = 7

func TestModelListsComeToTheReleasedSchema(t *testing.T) {
	dir := t.TempDir()
	released(t, dir, releasedBeforeLists)
	s := open(t, dir)
	if list := connections(t, s); len(list) != 1 || list[0].Name != "Work a" {
		t.Fatalf("connections %+v", list)
	}
	want := control.ModelList{ConnectionID: "a", FetchedAt: t0.UTC(), Models: []control.ListedModel{{Name: "m1", Context: 4096}, {Name: "x/y"}}}
	if err := s.SaveModelList(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := s.ModelLists(t.Context())
	if diff := cmp.Diff([]control.ModelList{want}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestModelListsFollowTheirConnections(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a")
	list := control.ModelList{ConnectionID: "a", FetchedAt: t0, Models: []control.ListedModel{{Name: "m"}}}
	kept := func(step string, want int) {
		t.Helper()
		if got, err := s.ModelLists(t.Context()); err != nil || len(got) != want {
			t.Errorf("%s: %+v, %v", step, got, err)
		}
	}
	for _, step := range []struct {
		name string
		list control.ModelList
		want int
	}{
		{"saved", list, 1},
		{"replaced", list, 1},
		{"of nobody", control.ModelList{ConnectionID: "gone", Models: list.Models}, 1},
		{"forgotten", control.ModelList{ConnectionID: "a"}, 0},
		{"saved again", list, 1},
	} {
		if err := s.SaveModelList(t.Context(), step.list); err != nil {
			t.Fatal(err)
		}
		kept(step.name, step.want)
	}
	if err := s.write.Exec("UPDATE connection_models SET models = 'broken'").Error; err != nil {
		t.Fatal(err)
	}
	kept("unreadable", 0)
	if err := s.DeleteConnection(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM connection_models"); n != 0 {
		t.Error("the list outlived its connection")
	}
}

package control

import "testing"

// The demo's connections are told by their names, under which the user sees
// them everywhere else.
func TestTheDemosFaultsNameTheirConnections(t *testing.T) {
	s := service(t, ConnectionRecord{Provider: "anthropic", Name: "Harbour A"})
	s.byID.Store(&map[string]*Route{"0": s.Routes()[0]})
	d := s.withNames(Demo{Faults: []Fault{{ConnectionID: "0", Kind: "none"}, {ConnectionID: "gone", Kind: "none"}}})
	if d.Faults[0].ConnectionName != "Harbour A" || d.Faults[1].ConnectionName != "" {
		t.Errorf("named %+v", d.Faults)
	}
}

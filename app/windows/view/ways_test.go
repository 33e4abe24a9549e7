package view

import (
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestWaysOut(t *testing.T) {
	for _, tt := range []struct{ stored, base, way, address, shown string }{
		{"", "https://api.example/v1", WayUsual, "", "as the environment says"},
		{"direct", "https://api.example/v1", WayDirect, "", "directly"},
		{"socks5://proxy.example:1080", "https://api.example/v1", WayProxy, "socks5://proxy.example:1080", "proxy.example:1080"},
		{"socks5://proxy.example:1080", "http://127.0.0.1:8080/v1", WayProxy, "socks5://proxy.example:1080", "stays on this machine"},
	} {
		way, address := WayOf(tt.stored)
		if way != tt.way || address != tt.address || ProxyURL(way, " "+address) != tt.stored {
			t.Errorf("%q is read as %q, %q and written as %q", tt.stored, way, address, ProxyURL(way, address))
		}
		list := Outlets(control.Snapshot{Connections: []control.Connection{{ID: "c", Name: "C", BaseURL: tt.base, ProxyURL: tt.stored}}}, nil, time.Time{})
		if list[0].Way != tt.shown {
			t.Errorf("%q is shown as %q, want %q", tt.stored, list[0].Way, tt.shown)
		}
	}
	if got := ProxyURL(WayProxy, " "); got == "" || got == control.DirectProxy {
		t.Errorf("a proxy without an address is %q, which would be taken", got)
	}
}

func TestDraftCarriesTheWayOut(t *testing.T) {
	p := control.Provider{ID: "anthropic"}
	stored := control.Connection{Provider: "anthropic", ProxyURL: "http://proxy.example:3128", HasProxyLogin: true}
	d := EditDraft(stored)
	if patch := d.Patch(stored, p); patch.ProxyURL != nil {
		t.Errorf("without a change %q is sent", *patch.ProxyURL)
	}
	d.ProxyURL = ""
	if patch := d.Patch(stored, p); patch.ProxyURL == nil || *patch.ProxyURL != "" {
		t.Error("the way back to the environment's is not sent")
	}
	d.ProxyURL = "direct"
	if in := d.Input(p); in.ProxyURL != "direct" {
		t.Errorf("a new connection goes by %q", in.ProxyURL)
	}
}

package facadetest

import (
	"errors"
	"testing"

	"breakwater/proxy/control"
)

// waysOut checks the outbound proxy of a connection and the file of further
// root certificates.
func waysOut(t *testing.T, f control.Facade) {
	ctx := t.Context()
	a := add(t, f, "A")
	for _, want := range []string{"socks5://proxy.example:1080", control.DirectProxy, ""} {
		c, err := f.EditConnection(ctx, a.ID, control.ConnectionPatch{ProxyURL: &want})
		if err != nil || c.ProxyURL != want || c.HasProxyLogin {
			t.Errorf("edited to %q: %q, %v", want, c.ProxyURL, err)
		}
	}
	_, err := f.EditConnection(ctx, a.ID, control.ConnectionPatch{ProxyURL: new("ftp://proxy.example")})
	if inv, ok := errors.AsType[*control.InvalidError](err); !ok || inv.Fields[0].Field != "proxyUrl" {
		t.Errorf("%v, want a refusal of proxyUrl", err)
	}
	_, err = f.EditSettings(ctx, control.SettingsPatch{CAFile: new("/missing/roots.pem")})
	if inv, ok := errors.AsType[*control.InvalidError](err); !ok || inv.Fields[0].Field != "caFile" {
		t.Errorf("%v, want a refusal of caFile", err)
	}
	if set, err := f.EditSettings(ctx, control.SettingsPatch{CAFile: new("")}); err != nil || set.CAFile != "" {
		t.Errorf("without a file: %q, %v", set.CAFile, err)
	}
}

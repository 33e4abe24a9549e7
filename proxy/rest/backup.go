package rest

import (
	"net/http"

	"breakwater/proxy/control"
)

func (a *api) export(r *http.Request) (int, any, error) {
	b, err := a.facade.Export(r.Context(), "")
	return backup(b, err)
}

// exportBody is the body of POST /api/export. The passphrase has no place in a
// URL, which is why this is no GET.
type exportBody struct {
	Passphrase string `json:"passphrase"`
}

func (a *api) exportSecrets(r *http.Request) (int, any, error) {
	var in exportBody
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Passphrase == "" {
		return 0, nil, control.Invalid("passphrase", "Required; GET exports without the keys")
	}
	b, err := a.facade.Export(r.Context(), in.Passphrase)
	return backup(b, err)
}

func backup(b control.Backup, err error) (int, any, error) {
	b.Connections = list(b.Connections)
	return http.StatusOK, b, err
}

func (a *api) importBackup(r *http.Request) (int, any, error) {
	var in control.ImportRequest
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	rep, err := a.facade.Import(r.Context(), in)
	rep.Connections = list(rep.Connections)
	return http.StatusOK, rep, err
}

package rest

import "net/http"

func (a *api) listLeases(r *http.Request) (int, any, error) {
	limit, offset, err := paging(r)
	if err != nil {
		return 0, nil, err
	}
	all, err := a.facade.Leases(r.Context())
	return http.StatusOK, leasesAnswer{Leases: page(all, limit, offset), Total: len(all)}, err
}

func (a *api) endLease(r *http.Request) (int, any, error) {
	err := a.facade.EndLease(r.Context(), r.PathValue("id"))
	return http.StatusOK, okAnswer{OK: true}, err
}

package rest

import "net/http"

// The routes of a Claude subscription's lane, limit reset and windows.

func (a *api) leaveLane(r *http.Request) (int, any, error) {
	return done(a.facade.LeaveLane(r.Context(), r.PathValue("id")))
}

func (a *api) checkReset(r *http.Request) (int, any, error) {
	return done(a.facade.CheckLimitReset(r.Context(), r.PathValue("id")))
}

func (a *api) claudeUsage(r *http.Request) (int, any, error) {
	u, err := a.facade.ClaudeUsage(r.Context(), r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, u, nil
}

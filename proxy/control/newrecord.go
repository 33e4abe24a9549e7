package control

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/catalog"
)

// newRecord returns the record of a new connection, checked.
func (s *Service) newRecord(in ConnectionInput) (ConnectionRecord, catalog.Provider, error) {
	p, ok := catalog.Lookup(in.Provider)
	if !ok {
		return ConnectionRecord{}, p, Invalid("provider", "%q is not in the catalogue; use \"custom\" with a base URL", in.Provider)
	}
	routes := s.Routes()
	now := time.Now().Round(0).UTC()
	rec := ConnectionRecord{
		ID: newID(), Provider: p.ID, Name: cmp.Or(strings.TrimSpace(in.Name), freeName(p.Name, routes)),
		Credential: cmp.Or(in.Credential, string(p.Credentials[0])),
		BaseURL:    NormalBaseURL(in.BaseURL), Dialects: in.Dialects, DefaultModel: strings.TrimSpace(in.DefaultModel),
		Models: in.Models, Priority: in.Priority, Active: !in.Inactive, DisableCooling: in.DisableCooling,
		LowPriorityMode: in.LowPriorityMode, AutoLimitReset: in.AutoLimitReset,
		TimeoutMs: in.TimeoutMs, OrganizationUUID: strings.TrimSpace(in.OrganizationUUID),
		ClientID: strings.TrimSpace(in.ClientID), TokenURL: strings.TrimSpace(in.TokenURL), TokenFormat: in.TokenFormat, CreatedAt: now, UpdatedAt: now,
	}
	if rec.Credential == string(catalog.NoCredential) && in.APIKey != "" && in.Credential == "" {
		rec.Credential = string(catalog.KeyCredential)
	}
	if rec.Priority == 0 {
		rec.Priority = lastPriority(routes) + 1
	}
	proxy, err := readProxy(in.ProxyURL)
	if err != nil {
		return rec, p, err
	}
	rec.ProxyURL = proxy.address
	var bad problems
	if rec.Limits = in.limits(&bad); len(bad.fields) > 0 {
		return rec, p, bad.err()
	}
	rec.RateLimitProtection = len(in.RateLimitOverrides) > 0
	in.Credential = rec.Credential
	key, err := in.secret()
	if err != nil {
		return rec, p, err
	}
	if err := checkRecord(rec, p, key != "", routes); err != nil {
		return rec, p, err
	}
	return rec, p, errors.Join(s.checkNotUs(rec), s.notPasted(key, rec.words()...))
}

func lastPriority(routes []*Route) int {
	last := 0
	for _, r := range routes {
		last = max(last, r.Record.Priority)
	}
	return last
}

// freeName returns the name, with a number behind it when it is taken.
func freeName(name string, routes []*Route) string {
	taken := func(n string) bool {
		return slices.ContainsFunc(routes, func(r *Route) bool { return strings.EqualFold(r.Record.Name, n) })
	}
	for n, try := 2, name; ; n++ {
		if !taken(try) {
			return try
		}
		try = fmt.Sprintf("%s %d", name, n)
	}
}

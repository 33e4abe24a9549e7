package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"breakwater/proxy/catalog"
)

// Bounds of fetching the providers' model lists.
const (
	listFresh = 24 * time.Hour // how long a list is good
	listRetry = time.Hour      // after a fetch that failed
)

// ModelList is a connection's list of models as its provider gave it.
type ModelList struct {
	ConnectionID string
	FetchedAt    time.Time
	Models       []ListedModel
}

// ModelStore keeps the fetched model lists; a write has reached the disk when
// the call returns.
type ModelStore interface {
	ModelLists(ctx context.Context) ([]ModelList, error)
	// SaveModelList replaces the list of a connection; one without models and
	// time forgets it.
	SaveModelList(ctx context.Context, l ModelList) error
}

// ConnectionModels are the models that one connection is known to offer.
type ConnectionModels struct {
	ConnectionID string         `json:"connectionId"`
	Connection   string         `json:"connection"`
	Provider     string         `json:"provider"`
	FetchedAt    *time.Time     `json:"fetchedAt,omitempty"` // of the provider's own list
	Models       []OfferedModel `json:"models"`
}

// KnownModels returns the models that each connection is known to offer, in
// routing order. Lists older than a day are fetched in the background.
func (s *Service) KnownModels(context.Context) ([]ConnectionModels, error) {
	s.refreshLists(true)
	out := []ConnectionModels{}
	for _, r := range s.Routes() {
		c := ConnectionModels{ConnectionID: r.Record.ID, Connection: r.Record.Name, Provider: r.Provider.ID, Models: s.Offered(r)}
		if l := r.Use.Models.Load(); l != nil {
			c.FetchedAt = RealTime(l.FetchedAt)
		}
		out = append(out, c)
	}
	return out, nil
}

// Offered returns the models that a connection is known to offer, by name: those
// of the provider's own list, the catalogue's, the user's, and its default (case
// Q21). Patterns are no names, and what the connection leaves out is not in it.
func (s *Service) Offered(r *Route) []OfferedModel {
	at := map[string]int{}
	out := []OfferedModel{}
	add := func(m OfferedModel) {
		if m.Name == "" || isPattern(m.Name) || r.Excludes(m.Name) {
			return
		}
		i, known := at[m.Name]
		switch {
		case !known:
			at[m.Name] = len(out)
			out = append(out, m)
		case out[i].Context == 0:
			out[i].Context = m.Context
		}
	}
	if l := r.Use.Models.Load(); l != nil {
		for _, m := range l.Models {
			if r.offers(m.Name) {
				add(OfferedModel{Name: m.Name, Context: m.Context, Listed: true})
			}
		}
	}
	for _, m := range catalog.Models(r.Provider.ID) {
		if r.offers(m.Name) {
			add(OfferedModel{Name: m.Name, Context: m.Context})
		}
	}
	for _, name := range r.Record.Models {
		add(OfferedModel{Name: name})
	}
	add(OfferedModel{Name: r.Record.DefaultModel})
	if facts := s.comboSettings.Load(); facts != nil {
		for i, m := range out {
			if f := facts.ModelFacts[m.Name]; f.Context > 0 {
				out[i].Context = f.Context // the user knows better
			}
		}
	}
	sortOffered(out)
	return out
}

// RefreshModels has the model lists that a test has fetched, and that are older
// than a day, fetched again in the background. What no test asked for is not
// asked because a client looks (case P46).
func (s *Service) RefreshModels() { s.refreshLists(false) }

// refreshLists fetches, in the background, the model lists that are older than a
// day, and the missing ones where that is wanted. It runs when somebody looks,
// so that nothing fires while nobody does.
func (s *Service) refreshLists(missing bool) {
	if s.cfg.ModelLister == nil || s.Paused() {
		return
	}
	select {
	case <-s.stop:
		return
	default:
	}
	for _, r := range s.Routes() {
		if (missing || r.Use.Models.Load() != nil) && s.listDue(r) {
			s.done.Go(func() { s.fetchList(r) })
		}
	}
}

// listDue reports whether a connection's list is to be fetched now, and notes
// that it is.
func (s *Service) listDue(r *Route) bool {
	if !r.Record.Active || r.Credential() == catalog.PassthroughCredential || r.keyMissing() || r.login != nil || len(r.Dialects()) == 0 {
		return false // a stored login may have to be refreshed first: its tests fetch the list
	}
	if !State(s.engine.ConnectionStatus(r.Conn).State).Available() {
		return false
	}
	now := time.Now()
	if l := r.Use.Models.Load(); l != nil && now.Sub(l.FetchedAt).Abs() < listFresh {
		return false
	}
	last := r.Use.listTried.Load()
	if last != 0 && now.Sub(time.UnixMilli(last)).Abs() < listRetry {
		return false
	}
	return r.Use.listTried.CompareAndSwap(last, now.UnixMilli())
}

func (s *Service) fetchList(r *Route) {
	ctx, cancel := s.whileRunning()
	defer cancel()
	list, err := s.cfg.ModelLister(ctx, r)
	if err != nil {
		s.cfg.Log.Debug("model list not fetched", "connection", r.Record.ID)
		return
	}
	s.keepList(ctx, r, list)
}

// whileRunning returns a context that ends with the service.
func (s *Service) whileRunning() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// keepList stores the list of a connection, unless its address changed while
// the list was fetched.
func (s *Service) keepList(ctx context.Context, r *Route, list []ListedModel) {
	if len(list) == 0 {
		return
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	now, ok := s.Route(r.Record.ID)
	if !ok || now.BaseURL() != r.BaseURL() {
		return
	}
	l := &ModelList{ConnectionID: r.Record.ID, FetchedAt: time.Now().Round(0).UTC(), Models: list}
	now.Use.Models.Store(l)
	if err := s.cfg.Store.SaveModelList(ctx, *l); err != nil {
		s.cfg.Log.Warn("the model list of a connection could not be stored", "connection", r.Record.ID, "error", err)
	}
}

// forgetList drops the list of a connection whose address has changed.
func (s *Service) forgetList(ctx context.Context, r *Route) {
	r.Use.listTried.Store(0)
	if r.Use.Models.Swap(nil) == nil {
		return
	}
	if err := s.cfg.Store.SaveModelList(ctx, ModelList{ConnectionID: r.Record.ID}); err != nil {
		s.cfg.Log.Warn("the model list of a connection could not be deleted", "connection", r.Record.ID, "error", err)
	}
}

// loadLists takes in the stored model lists.
func (s *Service) loadLists(ctx context.Context) error {
	lists, err := s.cfg.Store.ModelLists(ctx)
	if err != nil {
		return fmt.Errorf("load the model lists: %w", err)
	}
	for i := range lists {
		if r, ok := s.Route(lists[i].ConnectionID); ok {
			r.Use.Models.Store(&lists[i])
		}
	}
	return nil
}

// adopt stores the address below which a test found the provider's list: the
// server has no /v1 (case Q20).
func (s *Service) adopt(ctx context.Context, r *Route, base string) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	old, ok := s.Route(r.Record.ID)
	if !ok || old.Record.BaseURL != r.Record.BaseURL {
		return nil // edited meanwhile
	}
	next := *old
	next.Record.BaseURL, next.Record.UpdatedAt = base, time.Now().Round(0).UTC()
	if err := s.cfg.Store.SaveConnection(ctx, next.Record); err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	for i := range next.endpoints {
		if next.endpoints[i].URL != "" {
			next.endpoints[i].URL = versioned(base)
		}
	}
	routes := slices.Clone(s.Routes())
	routes[slices.Index(routes, old)] = &next
	s.setRoutes(routes)
	return nil
}

package facadetest

import (
	"context"

	"breakwater/proxy/control"
)

// claude looks a Claude connection up under the lock.
func (f *Fake) claude(ctx context.Context, method, id string) (control.Connection, error) {
	err := f.enter(ctx, method)
	defer f.mu.Unlock()
	i := f.find(id)
	switch {
	case err != nil:
		return control.Connection{}, err
	case i < 0:
		return control.Connection{}, control.ErrNotFound
	case !f.snap.Connections[i].Claude:
		return control.Connection{}, control.Invalid("id", "no Claude subscription")
	}
	return f.snap.Connections[i], nil
}

// LeaveLane is only noted.
func (f *Fake) LeaveLane(ctx context.Context, id string) error {
	_, err := f.claude(ctx, "LeaveLane", id)
	return err
}

// CheckLimitReset is only noted.
func (f *Fake) CheckLimitReset(ctx context.Context, id string) error {
	_, err := f.claude(ctx, "CheckLimitReset", id)
	return err
}

// ClaudeUsage returns what the connection in the snapshot shows.
func (f *Fake) ClaudeUsage(ctx context.Context, id string) (control.ClaudeUsage, error) {
	c, err := f.claude(ctx, "ClaudeUsage", id)
	if err != nil || c.Usage == nil {
		return control.ClaudeUsage{Models: []control.ClaudeWindow{}}, err
	}
	return *c.Usage, nil
}

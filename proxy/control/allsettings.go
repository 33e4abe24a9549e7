package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// keyRevision is the key under which the settings' revision is stored.
const keyRevision = "settingsRevision"

// AllSettings are the settings of every kind, with the number of their present
// version.
type AllSettings struct {
	Settings
	Guide
	ComboSettings
	// Revision grows by one with every change.
	Revision int64 `json:"revision"`
}

// AllSettingsPatch changes settings of every kind, all or none; absent fields
// stay as they are.
type AllSettingsPatch struct {
	SettingsPatch
	GuidePatch
	ComboSettingsPatch
	// ExpectedRevision, when given, refuses the change with a ConflictError
	// unless the settings are still at this revision (settings sheet §2.12).
	ExpectedRevision *int64 `json:"expectedRevision,omitempty"`
}

// ConflictError tells that somebody else changed the settings meanwhile;
// nothing was changed.
type ConflictError struct{ CurrentRevision int64 }

// Error names the present revision.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the settings have changed meanwhile; they are at revision %d", e.CurrentRevision)
}

// loadRevision reads the revision of the stored settings.
func (s *Service) loadRevision(ctx context.Context) error {
	raw, ok, err := s.cfg.Store.Setting(ctx, keyRevision)
	if err != nil {
		return fmt.Errorf("load the settings' revision: %w", err)
	}
	var n int64
	if ok && json.Unmarshal(raw, &n) != nil {
		n = 0 // a revision that cannot be read only makes clients read again
	}
	s.revision.Store(n)
	return nil
}

// AllSettings returns the settings of every kind as they are now.
func (s *Service) AllSettings(context.Context) (AllSettings, error) { return s.allSettings(), nil }

// allSettings waits for no change that is being stored. The revision is read
// first and written last: values that are newer than it only make their
// reader's own change a conflict.
func (s *Service) allSettings() AllSettings {
	revision := s.revision.Load()
	return AllSettings{Settings: s.Config(), Guide: s.guide(), ComboSettings: *s.comboSettings.Load(), Revision: revision}
}

// EditAllSettings changes the fields that the patch holds, all or none.
func (s *Service) EditAllSettings(ctx context.Context, p AllSettingsPatch) (AllSettings, error) {
	useRoots, rootsErr := func() {}, error(nil)
	if p.CAFile != nil { // before the lock: it may be on a drive that does not answer
		useRoots, rootsErr = s.useRoots(strings.TrimSpace(*p.CAFile))
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	revision := s.revision.Load()
	if p.ExpectedRevision != nil && *p.ExpectedRevision != revision {
		return AllSettings{}, &ConflictError{CurrentRevision: revision}
	}
	own, writes, err := s.patchOwn(p.SettingsPatch)
	if err != nil {
		return AllSettings{}, err
	}
	judge, more, err := s.patchGuide(p.GuidePatch)
	if err != nil {
		return AllSettings{}, err
	}
	maps.Copy(writes, more)
	combos, more, err := s.patchCombos(p.ComboSettingsPatch)
	if err != nil {
		return AllSettings{}, err
	}
	maps.Copy(writes, more)
	if len(writes) == 0 {
		return s.allSettings(), nil
	}
	if rootsErr != nil {
		return AllSettings{}, rootsErr
	}
	writes[keyRevision] = revision + 1
	raw := map[string][]byte{}
	for key, value := range writes {
		if raw[key], err = json.Marshal(value); err != nil {
			return AllSettings{}, fmt.Errorf("store %s: %w", key, err)
		}
	}
	if err := s.cfg.Store.SaveSettings(ctx, raw); err != nil {
		return AllSettings{}, fmt.Errorf("store the settings: %w", err)
	}
	s.settings.Store(&own)
	if useRoots(); p.CAFile != nil {
		s.rootsLost.Store(nil)
	}
	s.cfg.Store.SetActivityLimit(own.ActivityLimit)
	s.comboSettings.Store(&combos)
	s.replan()
	s.usePolicy(&judge)
	s.revision.Store(revision + 1)
	s.Announce(EventSettings, Change{To: "settings", Revision: revision + 1})
	return s.allSettings(), nil
}

// patchOwn returns the product's settings with the patch in them, and what is
// to be stored.
func (s *Service) patchOwn(p SettingsPatch) (Settings, map[string]any, error) {
	next, writes := s.Config(), map[string]any{}
	if p == (SettingsPatch{}) {
		return next, writes, nil
	}
	if err := CheckLanguage(p.Language); err != nil {
		return next, writes, err
	}
	if err := checkOrigins(p.AllowedOrigins); err != nil {
		return next, writes, err
	}
	set(&next.Notifications, p.Notifications)
	set(&next.Theme, p.Theme)
	set(&next.Language, p.Language)
	set(&next.RequireAPIKey, p.RequireAPIKey)
	set(&next.ClientProfile, p.ClientProfile)
	set(&next.AllowedOrigins, p.AllowedOrigins)
	set(&next.ActivityLimit, p.ActivityLimit)
	set(&next.ClaudeBaseURL, p.ClaudeBaseURL)
	set(&next.EgressProbeURL, p.EgressProbeURL)
	if p.CAFile != nil {
		next.CAFile = strings.TrimSpace(*p.CAFile)
	}
	set(&next.AutoDisableBanned, p.AutoDisableBanned)
	p.Notify.Apply(&next.Notify)
	set(&next.TextScale, p.TextScale)
	set(&next.ReducedMotion, p.ReducedMotion)
	if p.Tables != nil {
		next.Tables = PatchTables(next.Tables, *p.Tables)
	}
	writes[appSettings] = next
	return next, writes, checkSettings(next)
}

// EditSettings changes the fields that the patch holds.
func (s *Service) EditSettings(ctx context.Context, p SettingsPatch) (Settings, error) {
	all, err := s.EditAllSettings(ctx, AllSettingsPatch{SettingsPatch: p})
	return all.Settings, err
}

// EditGuide changes the fields that the patch holds, all or none.
func (s *Service) EditGuide(ctx context.Context, p GuidePatch) (Guide, error) {
	all, err := s.EditAllSettings(ctx, AllSettingsPatch{GuidePatch: p})
	return all.Guide, err
}

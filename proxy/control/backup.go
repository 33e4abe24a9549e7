package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// backupFormat is the version of the backup's form.
const backupFormat = 1

// Backup is the configuration as one document: no state, no activity, and no
// secrets but sealed ones. API keys are left out: only their digests exist.
type Backup struct {
	Format      int               `json:"format"`
	ExportedAt  time.Time         `json:"exportedAt"`
	Connections []ConnectionInput `json:"connections"` // a key may be written in by hand
	Settings    SettingsPatch     `json:"settings"`
	Guide       GuidePatch        `json:"guide"`
	// Combos name connections by their names.
	Combos        []ComboInput       `json:"combos,omitempty"`
	ComboSettings ComboSettingsPatch `json:"comboSettings,omitzero"`
	// Resilience is what the user has changed of the resilience settings.
	Resilience json.RawMessage `json:"resilience,omitempty"`
	// Secrets holds the connections' keys by name when a passphrase was given.
	Secrets *SealedSecrets `json:"secrets,omitempty"`
}

// ImportRequest asks for a backup to be put in force.
type ImportRequest struct {
	Backup     Backup `json:"backup"`
	Passphrase string `json:"passphrase,omitempty"` // opens the sealed secrets
	// DryRun, the default, only reports what would be done.
	DryRun *bool `json:"dryRun,omitempty"`
}

// ImportReport says what an import did, or would do.
type ImportReport struct {
	DryRun      bool               `json:"dryRun"`
	Connections []ImportConnection `json:"connections"`
	Combos      []ImportCombo      `json:"combos"`
	Settings    bool               `json:"settings"`   // the backup holds settings
	Resilience  bool               `json:"resilience"` // and resilience settings
}

// ImportConnection is what becomes of one connection of a backup.
type ImportConnection struct {
	Name string `json:"name"`
	// Action is add, skip (there is one of this name) or refuse.
	Action string       `json:"action"`
	Errors []FieldError `json:"errors,omitempty"` // why it is refused
}

// What becomes of a connection of a backup.
const (
	ImportAdd    = "add"
	ImportSkip   = "skip"
	ImportRefuse = "refuse"
)

// Export returns the configuration. With a passphrase the connections' keys
// are in it, sealed; without one they are not.
//
// It waits for no change that is being stored, and none waits for it: sealing
// takes a tenth of a second.
func (s *Service) Export(_ context.Context, passphrase string) (Backup, error) {
	own := s.Config()
	b := Backup{
		Format: backupFormat, ExportedAt: s.realNow(), Connections: []ConnectionInput{},
		Settings: SettingsPatch{
			Notifications: &own.Notifications, Theme: &own.Theme, Language: &own.Language, RequireAPIKey: &own.RequireAPIKey,
			ClientProfile: &own.ClientProfile, AllowedOrigins: &own.AllowedOrigins, ActivityLimit: &own.ActivityLimit, ClaudeBaseURL: &own.ClaudeBaseURL,
			EgressProbeURL: &own.EgressProbeURL, AutoDisableBanned: &own.AutoDisableBanned, Notify: own.Notify.patch(), TextScale: &own.TextScale, ReducedMotion: &own.ReducedMotion,
		},
		Resilience: s.policy.Load().stored,
		Combos:     s.exportCombos(), ComboSettings: s.comboSettings.Load().patch(),
	}
	var err error
	if b.Guide, err = s.guide().patch(s.policy.Load().lockout); err != nil {
		return Backup{}, err
	}
	keys := map[string]string{}
	for _, r := range s.Routes() {
		rec := r.Record
		b.Connections = append(b.Connections, ConnectionInput{
			Provider: rec.Provider, Name: rec.Name, Credential: rec.Credential, BaseURL: rec.BaseURL, Dialects: rec.Dialects,
			DefaultModel: rec.DefaultModel, Models: rec.Models, Priority: rec.Priority, DisableCooling: rec.DisableCooling,
			LowPriorityMode: rec.LowPriorityMode, AutoLimitReset: rec.AutoLimitReset, Inactive: !rec.Active,
			MaxConcurrent: rec.MaxConcurrent, RateLimitOverrides: asMap(rec.RateLimitOverrides), QuotaWindowThresholds: rec.QuotaWindowThresholds,
			RotationOverrides: rec.RotationOverrides, Tags: rec.Tags, Group: rec.Group, HealthCheckInterval: rec.HealthCheckInterval, Extras: rec.Extras,
			TimeoutMs: rec.TimeoutMs, OrganizationUUID: rec.OrganizationUUID,
			ClientID: rec.ClientID, TokenURL: rec.TokenURL, TokenFormat: rec.TokenFormat, ProxyURL: rec.ProxyURL,
		})
		if r.hasSecret() {
			keys[rec.Name] = r.storedSecret()
		}
		if r.proxy != rec.ProxyURL {
			keys[proxyKey(rec.Name)] = r.proxy
		}
	}
	if passphrase != "" {
		if b.Secrets, err = backupSeal.seal(keys, passphrase); err != nil {
			return Backup{}, err
		}
	}
	return b, nil
}

// proxyKey is where a backup keeps the login of a connection's outbound proxy;
// no connection is called so.
func proxyKey(name string) string { return "proxy/" + name }

// withProxyLogin returns the outbound proxy of a backup's connection with the
// login that was sealed for it.
func withProxyLogin(address, sealed string) string {
	if p, err := readProxy(sealed); err == nil && sealed != "" && p.address == address {
		return sealed
	}
	return address
}

// asMap returns what JSON makes of a value, nil for none.
func asMap(v any) (out map[string]any) {
	raw, err := json.Marshal(v)
	if err != nil || json.Unmarshal(raw, &out) != nil || len(out) == 0 {
		return nil
	}
	return out
}

// patch returns the guide's settings as a patch that brings them about;
// lockout is the stored part of the model lockout.
func (g Guide) patch(lockout []byte) (p GuidePatch, err error) {
	if p.ProviderErrorRules, err = json.Marshal(g.ProviderErrorRules); err != nil {
		return p, fmt.Errorf("export the error rules: %w", err)
	}
	if p.ProviderErrorDefaults, err = json.Marshal(g.ProviderErrorDefaults); err != nil {
		return p, fmt.Errorf("export the error defaults: %w", err)
	}
	if len(lockout) > 0 {
		p.ModelLockout = lockout
	}
	p.SessionAffinityTTLMs = &g.SessionAffinityTTLMs
	return p, nil
}

// Import puts a backup in force, or reports what that would do. Connections
// whose name is taken stay as they are.
func (s *Service) Import(ctx context.Context, in ImportRequest) (ImportReport, error) {
	if in.Backup.Format != backupFormat {
		return ImportReport{}, Invalid("backup.format", "this version reads format %d", backupFormat)
	}
	dry := in.DryRun == nil || *in.DryRun
	keys, err := backupSeal.open(in.Backup.Secrets, in.Passphrase)
	if err != nil {
		return ImportReport{}, err
	}
	rep := ImportReport{DryRun: dry, Connections: []ImportConnection{}, Combos: []ImportCombo{}}
	if err := s.importSettings(ctx, in.Backup, dry, &rep); err != nil {
		return ImportReport{}, err
	}
	taken := map[string]bool{}
	for _, r := range s.Routes() {
		taken[strings.ToLower(r.Record.Name)] = true
	}
	for _, c := range in.Backup.Connections {
		c.APIKey = cmp.Or(c.APIKey, keys[c.Name])
		c.ProxyURL = withProxyLogin(c.ProxyURL, keys[proxyKey(c.Name)])
		row := ImportConnection{Name: c.Name, Action: ImportAdd}
		if taken[strings.ToLower(c.Name)] {
			row.Action = ImportSkip
		} else if err := s.importConnection(ctx, c, dry); err != nil {
			if row.Errors = fieldErrors(err); row.Errors == nil {
				return ImportReport{}, err
			}
			row.Action = ImportRefuse
		}
		taken[strings.ToLower(c.Name)] = taken[strings.ToLower(c.Name)] || row.Action == ImportAdd
		rep.Connections = append(rep.Connections, row)
	}
	rep.Combos, err = s.importCombos(ctx, in.Backup.Combos, dry)
	return rep, err
}

// importSettings checks all settings before it stores any.
func (s *Service) importSettings(ctx context.Context, b Backup, dry bool, rep *ImportReport) error {
	rep.Resilience = len(b.Resilience) > 0 && string(b.Resilience) != "{}"
	_, own, err := s.patchOwn(b.Settings)
	var guide, combos map[string]any
	if err == nil {
		_, guide, err = s.patchGuide(b.Guide)
	}
	if err == nil {
		_, combos, err = s.patchCombos(b.ComboSettings)
	}
	if err == nil && rep.Resilience {
		_, err = patchResilience(s.policy.Load().stored, b.Resilience)
	}
	rep.Settings = len(own)+len(guide)+len(combos) > 0
	if err != nil || dry {
		return err
	}
	if _, err := s.EditAllSettings(ctx, AllSettingsPatch{SettingsPatch: b.Settings, GuidePatch: b.Guide, ComboSettingsPatch: b.ComboSettings}); err != nil {
		return err
	}
	if rep.Resilience {
		_, err = s.EditResilience(ctx, b.Resilience)
	}
	return err
}

func (s *Service) importConnection(ctx context.Context, c ConnectionInput, dry bool) error {
	if !dry {
		_, err := s.AddConnection(ctx, c)
		return err
	}
	_, _, err := s.newRecord(c)
	return err
}

// fieldErrors returns what an InvalidError refuses, nil for another error.
func fieldErrors(err error) []FieldError {
	if inv, ok := errors.AsType[*InvalidError](err); ok {
		return inv.Fields
	}
	return nil
}

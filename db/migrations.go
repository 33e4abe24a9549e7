package db

// migration is one step of the schema; its place in the list, counted from 1,
// is the schema version that results. Steps that have been released never
// change.
type migration struct {
	name string
	sql  []string
}

// migrations is the history of the schema.
var migrations = []migration{
	{name: "first schema", sql: []string{
		// The columns are those of the settings sheet §7; last_error_reason and
		// raw_hint are ours. rate_limited_until is text because imported rows
		// hold ISO or numeric text; we write epoch milliseconds.
		`CREATE TABLE provider_connections (
			id text NOT NULL,
			provider text NOT NULL,
			auth_type text NOT NULL,
			name text NOT NULL,
			priority integer NOT NULL,
			is_active integer NOT NULL,
			test_status text NOT NULL,
			error_code integer NOT NULL,
			last_error_type text NOT NULL,
			last_error_source text NOT NULL,
			last_error_reason text NOT NULL,
			last_error_at integer,
			raw_hint text NOT NULL,
			backoff_level integer NOT NULL,
			rate_limited_until text,
			expired_retry_count integer NOT NULL,
			expired_retry_at integer,
			max_concurrent integer NOT NULL,
			rate_limit_protection integer NOT NULL,
			default_model text NOT NULL,
			provider_specific_data text NOT NULL,
			last_used_at integer,
			created_at integer,
			updated_at integer,
			PRIMARY KEY (id)
		)`,
		// Breaker sheet §1.9.
		`CREATE TABLE domain_circuit_breakers (
			name text NOT NULL,
			state text NOT NULL DEFAULT 'CLOSED',
			failure_count integer DEFAULT 0,
			last_failure_time integer,
			options text,
			PRIMARY KEY (name)
		)`,
		`CREATE TABLE key_value (
			namespace text NOT NULL,
			key text NOT NULL,
			value text NOT NULL,
			PRIMARY KEY (namespace, key)
		)`,
		// No constraints and the trace last: a row is written for every request,
		// and queries that do not want the trace do not read its pages.
		`CREATE TABLE proxy_logs (
			id integer PRIMARY KEY,
			timestamp integer,
			method text,
			path text,
			dialect text,
			client text,
			model text,
			stream integer,
			status integer,
			result text,
			provider text,
			connection_id text,
			connection_name text,
			failed_over integer,
			duration_ms integer,
			first_output_ms integer,
			request_bytes integer,
			response_bytes integer,
			egress_ip text,
			tried text,
			trace text
		)`,
		`CREATE INDEX idx_pl_timestamp ON proxy_logs(timestamp)`,
	}},
	{name: "tokens and stop reason of a request", sql: []string{
		`ALTER TABLE proxy_logs ADD COLUMN input_tokens integer`,
		`ALTER TABLE proxy_logs ADD COLUMN output_tokens integer`,
		`ALTER TABLE proxy_logs ADD COLUMN cache_read_tokens integer`,
		`ALTER TABLE proxy_logs ADD COLUMN cache_write_tokens integer`,
		`ALTER TABLE proxy_logs ADD COLUMN reasoning_tokens integer`,
		`ALTER TABLE proxy_logs ADD COLUMN stop_reason text`,
	}},
	{name: "API keys", sql: []string{
		// Only a digest of the key is kept. Lists are JSON; the times are epoch
		// milliseconds, an absent expiry lasts for ever.
		`CREATE TABLE api_keys (
			id text NOT NULL,
			name text NOT NULL,
			key_hash text NOT NULL,
			key_tail text NOT NULL,
			scopes text NOT NULL,
			allowed_connections text NOT NULL,
			allowed_models text NOT NULL,
			is_active integer NOT NULL,
			expires_at integer,
			created_at integer,
			PRIMARY KEY (id)
		)`,
		`CREATE UNIQUE INDEX idx_api_keys_hash ON api_keys(key_hash)`,
	}},
	{name: "session affinity", sql: []string{
		// Settings sheet §3, ruling 25. A session is known by a hash only; the
		// times are epoch milliseconds.
		`CREATE TABLE session_account_affinity (
			provider text NOT NULL,
			session_key_hash text NOT NULL,
			connection_id text NOT NULL,
			created_at integer,
			last_used_at integer,
			expires_at integer,
			PRIMARY KEY (provider, session_key_hash)
		)`,
	}},
	{name: "combos", sql: []string{
		// data is the whole record as JSON; id and name stand beside it for
		// people who look into the file.
		`CREATE TABLE combos (
			id text NOT NULL,
			name text NOT NULL,
			data text NOT NULL,
			sort_order integer NOT NULL,
			created_at integer,
			updated_at integer,
			PRIMARY KEY (id)
		)`,
		// The place that last served a combo of the strategy lkgp.
		`CREATE TABLE combo_last_good (
			combo_id text NOT NULL,
			combo_name text NOT NULL,
			provider text NOT NULL,
			connection_id text NOT NULL,
			updated_at integer,
			PRIMARY KEY (combo_id)
		)`,
	}},
	{name: "exclusive leases", sql: []string{
		// The two partial indexes are the rule itself: one active lease for an
		// owner, one for a connection (settings sheet §4.6).
		`CREATE TABLE exclusive_connection_leases (
			id text NOT NULL,
			lease_owner_hash text NOT NULL CHECK (length(lease_owner_hash) = 64 AND lease_owner_hash NOT GLOB '*[^0-9a-f]*'),
			api_key_id text NOT NULL,
			provider text NOT NULL,
			connection_id text NOT NULL,
			generation integer NOT NULL CHECK (generation > 0),
			state text NOT NULL CHECK (state IN ('ACTIVE', 'RELEASED', 'EXPIRED', 'INVALIDATED')),
			acquired_at integer NOT NULL,
			renewed_at integer NOT NULL,
			expires_at integer NOT NULL,
			ended_at integer,
			end_reason text,
			PRIMARY KEY (id),
			CHECK ((state = 'ACTIVE') = (ended_at IS NULL) AND (state = 'ACTIVE') = (end_reason IS NULL))
		)`,
		`CREATE UNIQUE INDEX idx_ecl_owner ON exclusive_connection_leases(lease_owner_hash) WHERE state = 'ACTIVE'`,
		`CREATE UNIQUE INDEX idx_ecl_connection ON exclusive_connection_leases(connection_id) WHERE state = 'ACTIVE'`,
		`CREATE INDEX idx_ecl_generation ON exclusive_connection_leases(lease_owner_hash, generation)`,
		`CREATE INDEX idx_ecl_state ON exclusive_connection_leases(state, expires_at)`,
	}},
	{name: "combo of a request", sql: []string{`ALTER TABLE proxy_logs ADD COLUMN combo text`}},
	{name: "models of connections", sql: []string{
		// What the providers' own lists name, one row a connection (case Q21).
		`CREATE TABLE connection_models (
			connection_id text NOT NULL,
			models text NOT NULL,
			fetched_at integer,
			PRIMARY KEY (connection_id)
		)`,
	}},
	{name: "words of a refusal", sql: []string{
		// Ruling 62: the refusal's own words, the plain refusals in a row, and since
		// when a connection needs attention.
		`ALTER TABLE provider_connections ADD COLUMN last_error_words text NOT NULL DEFAULT ''`,
		`ALTER TABLE provider_connections ADD COLUMN refusal_count integer NOT NULL DEFAULT 0`,
		`ALTER TABLE provider_connections ADD COLUMN refused_since integer`,
		`ALTER TABLE provider_connections ADD COLUMN attention_since integer`,
		`ALTER TABLE provider_connections ADD COLUMN attention_words text NOT NULL DEFAULT ''`,
	}},
}

// latest returns the schema version that the steps lead to.
func latest(steps []migration) int { return len(steps) }

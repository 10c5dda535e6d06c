CREATE TABLE account (
    id uuid PRIMARY KEY,
    -- As typed; compared by email_key.
    email text NOT NULL,
    email_key text NOT NULL,
    password_hash text,
    username text NOT NULL,
    display_name text NOT NULL,
    avatar_key text NOT NULL DEFAULT '',
    time_zone text NOT NULL,
    time_zone_since timestamptz NOT NULL,
    is_admin boolean NOT NULL DEFAULT false,
    -- 1 active, 2 suspended, 3 banned, 4 deleted: AccountStatus of the proto.
    status smallint NOT NULL DEFAULT 1,
    terms_version text,
    terms_accepted_at timestamptz,
    -- Grows with every change other services see (D13).
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);
-- A deleted account's e-mail can be registered anew at once (AU-7).
CREATE UNIQUE INDEX account_email_key ON account (email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX account_username ON account (username);

CREATE TABLE session (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id),
    generation integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX session_account ON session (account_id) WHERE revoked_at IS NULL;
CREATE INDEX session_expiry ON session (expires_at);

-- Hashes only: the table lets nobody in. Rows stay until they expire, so that a stolen token is recognised (AU-4).
CREATE TABLE refresh_token (
    token_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    generation integer NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX refresh_token_session ON refresh_token (session_id);

-- Statistics and plan as streaks and billing tell them (D13).
CREATE TABLE streak_stats (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    active_streaks integer NOT NULL,
    longest_streak integer NOT NULL,
    total_photos integer NOT NULL
);
CREATE TABLE recovery_balance (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    balance integer NOT NULL
);

-- An account is removed with everything that refers to it. A table that refers to it without CASCADE stops the purge, visibly.
CREATE TABLE session (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    generation integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- Whether the gateways' stream has confirmed that the session ended.
    revocation_published boolean NOT NULL DEFAULT false
);
-- All sessions of an account, ended ones too: the purge deletes them with it.
CREATE INDEX session_of_account ON session (account_id);
CREATE INDEX session_expiry ON session (expires_at);
-- What the gateways' stream is filled with after a loss: the sessions that were revoked lately.
CREATE INDEX session_revocation ON session (revoked_at, id) WHERE revoked_at IS NOT NULL;
CREATE INDEX session_unpublished ON session (account_id) WHERE revoked_at IS NOT NULL AND NOT revocation_published;

-- Hashes only: the table lets no one in. Rows stay until they expire, so that a stolen token is recognised (AU-4).
CREATE TABLE refresh_token (
    token_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    generation integer NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX refresh_token_session ON refresh_token (session_id);

-- Who signs in with Apple (AU-5). Stays after the consent was revoked, so that the next consent finds the account again.
CREATE TABLE apple_identity (
    -- Apple's `sub`.
    subject text PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    consented_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- Whether Apple forwards mail to the user.
    forwards_mail boolean NOT NULL DEFAULT true
);
CREATE UNIQUE INDEX apple_identity_account ON apple_identity (account_id);

-- Notifications that Apple's servers have sent, so that a repeat changes nothing.
CREATE TABLE apple_notification (
    -- Apple's `jti`.
    id text PRIMARY KEY,
    kind text NOT NULL,
    received_at timestamptz NOT NULL
);
CREATE INDEX apple_notification_age ON apple_notification (received_at);

-- Failed logins of the last 15 minutes (AU-12), by hash of account or address.
CREATE TABLE login_failure (
    key bytea PRIMARY KEY,
    failed_at timestamptz[] NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX login_failure_expiry ON login_failure (expires_at);

-- Devices without an account, and how often they were shown something today (AU-8).
CREATE TABLE guest (
    id uuid PRIMARY KEY,
    -- SHA-256 of the device's id.
    device_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    peeks_used integer NOT NULL DEFAULT 0,
    peeks_on date NOT NULL
);
CREATE INDEX guest_seen ON guest (seen_at);

-- Moderation decisions that were carried out, so that each is carried out once (SO-9).
CREATE TABLE moderation_taken (
    action_id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    action smallint NOT NULL,
    taken_at timestamptz NOT NULL,
    until timestamptz
);
CREATE INDEX moderation_taken_account ON moderation_taken (account_id);

-- Exports of personal data that are too large for a reply (AU-10): made by a job as a file, which is deleted after 7 days.
CREATE TABLE data_export (
    user_id uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    -- 0 asked for, 1 ready, 2 to be deleted
    state smallint NOT NULL DEFAULT 0,
    -- Of the replica that makes it.
    attempt uuid,
    -- Until when no other replica makes or deletes it, by the machine's clock.
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    -- Of the file; set in state 1.
    blob_key text,
    -- When the file is deleted; set in state 1.
    delete_at timestamptz
);
CREATE INDEX data_export_waiting ON data_export (lease_until) WHERE state <> 1;
CREATE INDEX data_export_ready ON data_export (delete_at) WHERE state = 1;

ALTER TABLE account
    -- When the owner proved to own the address; only then it links and is found by (AU-13).
    ADD COLUMN email_verified_at timestamptz,
    -- Not set by the registration (AU-10).
    ADD COLUMN username_changed_at timestamptz;

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

-- What Apple's servers told, so that a repeat changes nothing.
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

-- Devices that look around without an account, and how often today (AU-8).
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

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

-- Tokens that were sent by mail (AU-13): hashes only. What the mail holds is derived from the id.
CREATE TABLE email_token (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    -- 1 verification, 2 password reset, 3 change of e-mail
    purpose smallint NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    -- Where it was sent: in a change the new address.
    address text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    -- When what it is for was changed otherwise.
    superseded_at timestamptz
);
CREATE INDEX email_token_account ON email_token (account_id);
CREATE INDEX email_token_expiry ON email_token (expires_at);

-- Mails on their way to notifications, each an operation that is repeated until it is answered (D6).
CREATE TABLE pending_mail (
    -- Of the operation.
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    -- MailKind of notifications' proto.
    kind smallint NOT NULL,
    address text NOT NULL,
    locale text NOT NULL,
    -- Whose link is in the mail.
    token_id uuid REFERENCES email_token (id) ON DELETE CASCADE,
    -- The instant that the mail is about.
    about_time timestamptz,
    new_address text,
    created_at timestamptz NOT NULL,
    useless_after timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    -- Of the replica that sends it.
    attempt uuid,
    -- Until when no other replica does, by the machine's clock.
    lease_until timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX pending_mail_lease ON pending_mail (lease_until);
CREATE INDEX pending_mail_age ON pending_mail (created_at);
CREATE INDEX pending_mail_account ON pending_mail (account_id);
CREATE INDEX pending_mail_token ON pending_mail (token_id);

-- Addresses for which a new password was asked, until a job has looked them up a second later: the request does the same work for each.
CREATE TABLE password_request (
    id uuid PRIMARY KEY,
    email_key text NOT NULL,
    requested_at timestamptz NOT NULL
);

-- Mails that were asked for within the last hour, by hash of mailbox, account or client address.
CREATE TABLE mail_limit (
    key bytea PRIMARY KEY,
    sent_at timestamptz[] NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX mail_limit_expiry ON mail_limit (expires_at);

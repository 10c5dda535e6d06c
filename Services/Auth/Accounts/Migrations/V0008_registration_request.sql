-- Registrations whose answer comes by mail (`auth.private-registration`): each is kept the same way, whether an account has its address or
-- not, and looked up by a job. Only adds: the release before this one goes on without it.
CREATE TABLE registration_request (
    -- What the token of its mail is derived from.
    id uuid PRIMARY KEY,
    -- Of the account that the token makes.
    new_account_id uuid NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    email text NOT NULL,
    email_key text NOT NULL,
    password_hash text NOT NULL,
    -- Null: made from the address.
    username text,
    -- Null: made from the address.
    display_name text,
    time_zone text NOT NULL,
    locale text NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Null until notifications has the mail.
    mailed_at timestamptz,
    tries integer NOT NULL DEFAULT 0,
    -- Of the replica that looks it up.
    attempt uuid,
    -- Until when no other replica does, by the machine's clock.
    lease_until timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX registration_request_lease ON registration_request (lease_until) WHERE mailed_at IS NULL;
CREATE INDEX registration_request_email ON registration_request (email_key);
CREATE INDEX registration_request_expiry ON registration_request (expires_at);

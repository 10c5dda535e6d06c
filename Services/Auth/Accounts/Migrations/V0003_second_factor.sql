-- Second factors of administrators: codes of an authenticator app (RFC 6238).
CREATE TABLE second_factor (
    account_id uuid PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    -- Encrypted; null until a code has confirmed the first one.
    secret bytea,
    enrolled_at timestamptz,
    -- The newest step of 30 s whose code was used, by the machine's clock: no code is taken twice.
    last_step bigint NOT NULL DEFAULT 0,
    -- One that waits for its first code, encrypted too.
    pending_secret bytea,
    pending_until timestamptz,
    CHECK ((secret IS NULL) = (enrolled_at IS NULL)),
    CHECK ((pending_secret IS NULL) = (pending_until IS NULL))
);

-- Hashes only; a code that was used is deleted.
CREATE TABLE recovery_code (
    account_id uuid NOT NULL REFERENCES second_factor (account_id) ON DELETE CASCADE,
    code_hash bytea NOT NULL,
    PRIMARY KEY (account_id, code_hash)
);

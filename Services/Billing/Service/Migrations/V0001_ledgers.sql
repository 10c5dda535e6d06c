CREATE TABLE token_balance (
    user_id uuid PRIMARY KEY,
    balance integer NOT NULL DEFAULT 0 CHECK (balance >= 0),
    -- Grows with every posting (D13).
    version bigint NOT NULL DEFAULT 0
);
CREATE TABLE token_entry (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- TokenEntryType of the proto.
    type smallint NOT NULL,
    amount integer NOT NULL CHECK (amount <> 0),
    balance_after integer NOT NULL CHECK (balance_after >= 0),
    streak_id uuid,
    note text,
    -- What was posted: the same thing is never posted twice (BI-3).
    posting_key text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (user_id, posting_key)
);
CREATE INDEX token_entry_log ON token_entry (user_id, created_at DESC, id DESC);

CREATE TABLE subscription (
    user_id uuid PRIMARY KEY,
    product_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    will_renew boolean NOT NULL,
    version bigint NOT NULL DEFAULT 1
);

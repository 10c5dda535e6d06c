-- Replies of mutating requests that carried an idempotency key (PF-4, D12). The reply is sealed with the key itself, which is not kept.
CREATE TABLE stored_reply (
    caller text NOT NULL,
    method text NOT NULL,
    key_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    reply bytea,
    -- False while a reply is still to be completed after its transaction, by what other services say.
    is_whole boolean NOT NULL DEFAULT true,
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (caller, method, key_hash)
);
CREATE INDEX stored_reply_age ON stored_reply (stored_at);

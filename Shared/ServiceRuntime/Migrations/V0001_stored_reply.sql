-- Replies of mutating requests that carried an idempotency key (PF-4, D12), and of the steps of changes across services (D6). A reply
-- is sealed with the key itself, which is not kept.
CREATE TABLE stored_reply (
    -- Whose key it is: a user, `-` for a client without one, or `operation`.
    caller text NOT NULL,
    method text NOT NULL,
    key_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    reply bytea,
    -- False while a reply is still to be completed after its transaction, by what other services say.
    is_whole boolean NOT NULL DEFAULT true,
    is_refusal boolean NOT NULL DEFAULT false,
    -- Whom the reply is about: it is deleted with the account (AU-7).
    user_id uuid,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (caller, method, key_hash)
);
CREATE INDEX stored_reply_expiry ON stored_reply (expires_at);
CREATE INDEX stored_reply_user ON stored_reply (user_id) WHERE user_id IS NOT NULL;

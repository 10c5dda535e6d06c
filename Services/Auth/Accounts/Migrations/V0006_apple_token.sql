-- Identity tokens of Apple's that have signed a user in: each does so once (AU-5). Until they expire.
CREATE TABLE apple_token_use (
    -- SHA-256 of the token.
    token_hash bytea PRIMARY KEY,
    expires_at timestamptz NOT NULL
);
CREATE INDEX apple_token_use_age ON apple_token_use (expires_at);

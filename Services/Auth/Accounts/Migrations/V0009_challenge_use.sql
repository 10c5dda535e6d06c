-- Solutions of challenges that were used (`auth.challenge`): each holds once. Until they would not be taken any more. Only adds: the release
-- before this one goes on without it.
CREATE TABLE challenge_use (
    -- SHA-256 of the challenge, or of the verifier's token.
    key bytea PRIMARY KEY,
    -- A keyed hash of the request, which may bring the solution again when it is repeated; null: it had no idempotency key.
    used_by bytea,
    -- How often that request was sent: each sending may cost a hash and a share of what all may register.
    uses integer NOT NULL DEFAULT 1,
    expires_at timestamptz NOT NULL
);
CREATE INDEX challenge_use_age ON challenge_use (expires_at);

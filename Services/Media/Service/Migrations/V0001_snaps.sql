-- A snap on its way through several services (D6): recorded first, driven to the end by the request or, after a crash, by the sweeper.
CREATE TABLE snap_operation (
    -- Also the snap's id and the operation id `streaks` is asked with.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- SHA-256 of the idempotency key; null without one.
    key_hash bytea,
    -- What a repeat with the same key must equal.
    request_hash bytea NOT NULL,
    streak_ids uuid[] NOT NULL,
    caption text,
    prompt_id text,
    captured_at timestamptz,
    received_at timestamptz NOT NULL,
    sha256 bytea NOT NULL,
    display_key text NOT NULL,
    thumbnail_key text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    -- 1 under way, 2 done, 3 refused by every streak
    state smallint NOT NULL DEFAULT 1,
    reply bytea,
    -- When the sweeper may take it up.
    next_attempt_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE UNIQUE INDEX snap_operation_key ON snap_operation (user_id, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX snap_operation_due ON snap_operation (next_attempt_at) WHERE state = 1;
CREATE INDEX snap_operation_bytes ON snap_operation (user_id, sha256);

CREATE TABLE snap (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    caption text,
    prompt_id text,
    captured_at timestamptz NOT NULL,
    posted_at timestamptz NOT NULL,
    on_time boolean NOT NULL,
    display_key text NOT NULL,
    thumbnail_key text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL
);

-- Which snap a streak shows for whose date.
CREATE TABLE streak_snap (
    streak_id uuid NOT NULL,
    on_date date NOT NULL,
    user_id uuid NOT NULL,
    snap_id uuid NOT NULL REFERENCES snap (id),
    PRIMARY KEY (streak_id, on_date, user_id)
);

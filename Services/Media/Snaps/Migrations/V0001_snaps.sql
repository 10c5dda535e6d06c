-- A snap on its way through several services (D6), recorded before its renditions are made: driven to the end by the request or, after a
-- crash, by the sweeper. One operation for each author, bytes, date and set of streaks (PH-3), so that a repeat finds it from the start.
CREATE TABLE snap_operation (
    -- Also the snap's id and the operation id for `streaks`.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- SHA-256 of the idempotency key; null without one.
    key_hash bytea,
    -- What a repeat with the same key must equal.
    request_hash bytea NOT NULL,
    -- SHA-256 of the photo's, the date and the streaks.
    content_hash bytea NOT NULL,
    -- The author's date that the snap claims.
    claimed_date date NOT NULL,
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
    -- 0 its renditions are being made, 1 under way, 2 done, 3 void: refused by every streak, or its maker died.
    state smallint NOT NULL,
    reply bytea,
    -- When the sweeper may lock it.
    next_attempt_at timestamptz NOT NULL,
    ended_at timestamptz
);
-- A void operation has no key any more: the same request may be tried again.
CREATE UNIQUE INDEX snap_operation_key ON snap_operation (user_id, key_hash) WHERE key_hash IS NOT NULL;
CREATE UNIQUE INDEX snap_operation_content ON snap_operation (user_id, content_hash) WHERE state <> 3;
CREATE INDEX snap_operation_bytes ON snap_operation (user_id, sha256);
CREATE INDEX snap_operation_due ON snap_operation (next_attempt_at) WHERE state IN (0, 1);
CREATE INDEX snap_operation_age ON snap_operation (received_at);

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
-- What one user has posted is deleted together, and exported page by page in the order of ids.
CREATE INDEX snap_owner ON snap (user_id, id);

-- Which snap a streak shows for a member and date.
CREATE TABLE streak_snap (
    streak_id uuid NOT NULL,
    on_date date NOT NULL,
    user_id uuid NOT NULL,
    snap_id uuid NOT NULL REFERENCES snap (id),
    PRIMARY KEY (streak_id, on_date, user_id)
);
CREATE INDEX streak_snap_snap ON streak_snap (snap_id);

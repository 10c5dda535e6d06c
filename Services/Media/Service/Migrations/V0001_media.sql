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

-- Users whose photos must not be served (AU-7, SO-9, PH-6); no other user has a row. A job brings the blob store in line.
CREATE TABLE photo_owner (
    user_id uuid PRIMARY KEY,
    -- Of the profile that said so; an older one never overwrites a newer (D13).
    version bigint NOT NULL,
    is_withheld boolean NOT NULL,
    -- The account is purged: the blobs are deleted, and nothing changes any more.
    is_purged boolean NOT NULL DEFAULT false,
    -- Grows with each change, so that a job that was overtaken does not note its own as done.
    revision integer NOT NULL DEFAULT 1,
    -- When the blob store must be brought in line, by the machine's clock; null when it is.
    due_at timestamptz
);
CREATE INDEX photo_owner_due ON photo_owner (due_at) WHERE due_at IS NOT NULL;

-- Pairs with a block or unblock that is not in the blob store yet (PH-6). A job brings it in line and deletes the row.
CREATE TABLE hidden_pair (
    one uuid NOT NULL,
    other uuid NOT NULL,
    -- Grows with each change, so that a job that was overtaken does not note its own as done.
    revision integer NOT NULL DEFAULT 1,
    due_at timestamptz NOT NULL,
    -- The block has ended. The links of before it stay dead (SO-7): the row is due again when they have expired.
    is_shown boolean NOT NULL DEFAULT false,
    PRIMARY KEY (one, other),
    CHECK (one < other)
);
CREATE INDEX hidden_pair_due ON hidden_pair (due_at);

-- Pictures of users (AU-10). The row is there before its blobs and after them, so that none is left behind by a process that dies.
CREATE TABLE avatar (
    -- In its keys: avatars/<user>/<id>/512.jpg and 128.jpg.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- 0 its renditions are being stored, 1 shown, 2 to be deleted
    state smallint NOT NULL DEFAULT 0,
    -- When the job deletes it, by the machine's clock; null while it is shown.
    due_at timestamptz
);
CREATE UNIQUE INDEX avatar_shown ON avatar (user_id) WHERE state = 1;
CREATE INDEX avatar_due ON avatar (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX avatar_owned ON avatar (user_id);

-- Users who have or had one, and the version of that, which other services keep (D13). Locked by every change.
CREATE TABLE avatar_owner (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL
);

-- Milestone cards (MC-1): a row before the picture, one for each streak, milestone, style and run of the streak.
CREATE TABLE milestone_card (
    id uuid PRIMARY KEY,
    streak_id uuid NOT NULL,
    -- The count that is celebrated.
    milestone integer NOT NULL,
    -- 1 orange, 2 purple, 3 green, 4 dark
    style smallint NOT NULL,
    -- The run of the streak that reached the milestone, as the card says it.
    first_day date NOT NULL,
    last_day date NOT NULL,
    -- The two members, the smaller id first.
    first_user uuid NOT NULL,
    second_user uuid NOT NULL,
    blob_key text NOT NULL,
    -- 0 being made, 1 made, 2 to be removed
    state smallint NOT NULL DEFAULT 0,
    -- Until when no other process makes, or removes, it; by the machine's clock.
    lease_until timestamptz NOT NULL,
    -- Of its public page (MC-2); null until it is made, and while a member has withdrawn it.
    token text,
    withdrawn_by uuid[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX milestone_card_subject ON milestone_card (streak_id, milestone, style, last_day) WHERE state <> 2;
CREATE UNIQUE INDEX milestone_card_token ON milestone_card (token);
CREATE INDEX milestone_card_first ON milestone_card (first_user);
CREATE INDEX milestone_card_second ON milestone_card (second_user);
CREATE INDEX milestone_card_unfinished ON milestone_card (lease_until) WHERE state <> 1;

-- Where a user has shared a card, and when last.
CREATE TABLE milestone_share (
    card_id uuid NOT NULL REFERENCES milestone_card (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    platform text NOT NULL,
    shared_at timestamptz NOT NULL,
    PRIMARY KEY (card_id, user_id, platform)
);
CREATE INDEX milestone_share_user ON milestone_share (user_id);

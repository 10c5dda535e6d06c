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

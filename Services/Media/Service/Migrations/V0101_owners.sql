-- Whose photos must not be served (AU-7, SO-9, PH-6). Nobody else has a row. The blob store is brought in line by a job.
CREATE TABLE photo_owner (
    user_id uuid PRIMARY KEY,
    -- Of the profile that said so; an older one never overwrites a newer (D13).
    version bigint NOT NULL,
    is_withheld boolean NOT NULL,
    -- The account is gone for good: the blobs go, and nothing changes any more.
    is_purged boolean NOT NULL DEFAULT false,
    -- Grows with each change, so that a job that was overtaken does not note its own as done.
    revision integer NOT NULL DEFAULT 1,
    -- When the blob store must be brought in line, by the machine's clock; null when it is.
    due_at timestamptz
);
CREATE INDEX photo_owner_due ON photo_owner (due_at) WHERE due_at IS NOT NULL;

-- What one user has posted is deleted together, and exported page by page in the order of ids.
CREATE INDEX snap_owner ON snap (user_id, id);
CREATE INDEX streak_snap_snap ON streak_snap (snap_id);

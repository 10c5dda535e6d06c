-- Users who have blocked another since their avatar was given its link (SO-7): a job gives it a new one, and deletes the row.
CREATE TABLE stale_avatar (
    user_id uuid PRIMARY KEY,
    -- Grows with each block, so that a job that was overtaken does not note its own as done.
    revision integer NOT NULL DEFAULT 1,
    due_at timestamptz NOT NULL
);
CREATE INDEX stale_avatar_due ON stale_avatar (due_at);

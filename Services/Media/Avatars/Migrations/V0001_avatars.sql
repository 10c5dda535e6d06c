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

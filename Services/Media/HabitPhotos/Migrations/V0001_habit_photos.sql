-- Photos of what was done of a habit on a date. The row is there before its blobs and after them, so that none is left behind by a process that
-- dies.
CREATE TABLE habit_photo (
    -- In its keys: habit-photos/<user>/<id>/display.jpg and thumbnail.jpg.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- Among those of the user.
    habit_id uuid NOT NULL,
    on_date date NOT NULL,
    -- Of the upload, lower-case hex: the same sent again is the same photo.
    sha256 text NOT NULL,
    -- Of the display rendition.
    width integer NOT NULL DEFAULT 0,
    height integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    -- 0 its renditions are being stored, 1 shown, 2 to be deleted
    state smallint NOT NULL DEFAULT 0,
    -- When the job deletes it, by the machine's clock; null while it is shown.
    due_at timestamptz
);
CREATE UNIQUE INDEX habit_photo_shown ON habit_photo (user_id, habit_id, on_date) WHERE state = 1;
CREATE INDEX habit_photo_due ON habit_photo (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX habit_photo_owned ON habit_photo (user_id);

-- Versions of dates' photos, of all together: a date that is begun anew never has a version that was there before.
CREATE SEQUENCE habit_photo_version;

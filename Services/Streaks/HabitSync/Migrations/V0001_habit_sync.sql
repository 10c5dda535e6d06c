-- Offline sync of habits (HA-7): which changes of devices were answered, and when each device was here last.

-- The answer to a change, for who sends it again; kept for 400 days.
CREATE TABLE habit_sync_change (
    user_id uuid NOT NULL,
    -- Made by the device: another user's may be the same.
    change_id uuid NOT NULL,
    -- HabitEntity of what was merged: 2 category, 3 completion; null for other changes.
    entity smallint,
    -- The id that the device made for it.
    entity_id uuid,
    -- The id that it has.
    merged_into uuid,
    -- SyncOutcome of the proto: 1 applied, 2 merged, 3 refused.
    outcome smallint NOT NULL CHECK (outcome BETWEEN 1 AND 3),
    -- Why it was refused.
    code text,
    message text,
    field text,
    answered_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, change_id)
);
-- Other names of completions and categories.
CREATE INDEX habit_sync_change_merged ON habit_sync_change (user_id, entity_id) WHERE merged_into IS NOT NULL;
CREATE INDEX habit_sync_change_age ON habit_sync_change (answered_at);

CREATE TABLE habit_sync_device (
    user_id uuid NOT NULL,
    -- Made by the app: another user's may be the same.
    device_id uuid NOT NULL,
    -- The date of the user's clock on which it sent the last of its queue (HA-12).
    last_synced_on date NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, device_id)
);
CREATE INDEX habit_sync_device_age ON habit_sync_device (seen_at);

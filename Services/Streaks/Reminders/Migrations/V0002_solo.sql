-- When a user's next reminder of their solo streaks may be due, and which were handled.
CREATE TABLE solo_reminder (
    user_id uuid PRIMARY KEY,
    -- Reminders before this instant are left out: there was nothing to remind of.
    since timestamptz NOT NULL,
    -- Null: nothing to remind of until a run begins.
    next_at timestamptz,
    -- The newest date with handled slots, and the bits of these (SoloReminder.Slot).
    handled_date date,
    handled_slots smallint NOT NULL DEFAULT 0,
    -- The last break of the check-in streak that was neither undone nor followed by a new run.
    missed_date date,
    broken_at timestamptz,
    lost_count integer NOT NULL DEFAULT 0
);
CREATE INDEX solo_reminder_due ON solo_reminder (next_at) WHERE next_at IS NOT NULL;

ALTER TABLE notification
    -- The habit that it is about.
    ADD COLUMN habit_id uuid,
    -- The date that a reminder of a habit is about: its actions count for it.
    ADD COLUMN on_date date;
-- What was answered is found by this.
CREATE INDEX notification_reminder ON notification (user_id, habit_id, on_date) WHERE on_date IS NOT NULL AND read_at IS NULL;

ALTER TABLE push_preferences
    ADD COLUMN enabled boolean NOT NULL DEFAULT true,
    ADD COLUMN habit_reminders boolean NOT NULL DEFAULT true,
    ADD COLUMN motivation boolean NOT NULL DEFAULT false;

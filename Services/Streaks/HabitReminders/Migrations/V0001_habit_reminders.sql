-- When a user's next reminder of habits may be due, and what was handled (HA-5, HA-17, HA-18). One row a user who has ever had a habit, or
-- wanted words of motivation.
CREATE TABLE habit_reminder_schedule (
    user_id uuid PRIMARY KEY,
    -- Evenings before this instant are left out: there was nothing to remind of.
    since timestamptz NOT NULL,
    -- Null: nothing to remind of until there is a habit again.
    next_at timestamptz,
    -- The newest date whose evening was handled.
    evening_date date,
    -- Since when the user wants words of motivation; null: they want none.
    motivation_since timestamptz,
    motivation_date date,
    -- How many reminders they had on their newest date with any.
    sent_date date,
    sent integer NOT NULL DEFAULT 0
);
CREATE INDEX habit_reminder_schedule_due ON habit_reminder_schedule (next_at) WHERE next_at IS NOT NULL;

-- What was said of a habit. Its time and days are fields of the habit.
CREATE TABLE habit_reminder (
    streak_id uuid PRIMARY KEY REFERENCES streak (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    -- Times before this instant are left out: the reminder was set later, or the habit came back.
    since timestamptz NOT NULL,
    -- The newest time that was handled.
    handled_date date,
    handled_minute integer,
    -- The date of the newest reminder that was sent, until it is answered or the habit is done.
    awaiting_date date,
    -- The date that was done or skipped in the app while its reminder waited, and which (ReminderAnswer of the proto): the job emits it.
    answered_date date,
    answer integer,
    -- When it comes again after a snooze; null: it has, or does not.
    snooze_at timestamptz
);
CREATE INDEX habit_reminder_user ON habit_reminder (user_id);

-- What was tapped on reminders, so that the same tap counts once. Rows stay 10 days.
CREATE TABLE habit_reminder_answer (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    -- Which reminder of the date: how often it was put off before.
    number integer NOT NULL,
    -- ReminderAction of the proto.
    action integer NOT NULL,
    answered_at timestamptz NOT NULL,
    PRIMARY KEY (streak_id, on_date, number, action)
);
CREATE INDEX habit_reminder_answer_age ON habit_reminder_answer (answered_at);
CREATE INDEX habit_reminder_answer_user ON habit_reminder_answer (user_id);

-- A trigger on the table of the core, so that no writer of habits can leave it out: sync and restore write them too. The schedule is locked
-- before the reminder, as the job does.
CREATE FUNCTION habit_reminder_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO habit_reminder_schedule AS known (user_id, since, next_at) VALUES (NEW.user_id, NEW.updated_at, NEW.updated_at)
    ON CONFLICT (user_id) DO UPDATE SET
        since = CASE WHEN known.next_at IS NULL THEN EXCLUDED.since ELSE known.since END,
        next_at = least(known.next_at, EXCLUDED.next_at);
    INSERT INTO habit_reminder AS known (streak_id, user_id, since) VALUES (NEW.streak_id, NEW.user_id, NEW.updated_at)
    ON CONFLICT (streak_id) DO UPDATE SET since = EXCLUDED.since, snooze_at = NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER habit_reminder_inserted AFTER INSERT ON habit FOR EACH ROW EXECUTE FUNCTION habit_reminder_changed();
CREATE TRIGGER habit_reminder_updated AFTER UPDATE OF reminder_minute, reminder_days, archived_at, deleted_at ON habit FOR EACH ROW
    WHEN ((OLD.reminder_minute, OLD.reminder_days, OLD.archived_at, OLD.deleted_at)
        IS DISTINCT FROM (NEW.reminder_minute, NEW.reminder_days, NEW.archived_at, NEW.deleted_at))
    EXECUTE FUNCTION habit_reminder_changed();

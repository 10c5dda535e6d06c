-- When the next reminder of a user may be due: of their snap window, or of a day that ends with streaks at risk (PW-2, NO-5). One row a
-- user who has ever had a streak; it keeps what was emitted, so that no date has two of one kind.
CREATE TABLE reminder_schedule (
    user_id uuid PRIMARY KEY,
    -- Reminders before this instant are left out: there was no running streak.
    since timestamptz NOT NULL,
    -- Null while the user has no running streak.
    next_at timestamptz,
    -- The newest date of each kind that was handled.
    opened_for date,
    closing_for date,
    ending_for date
);
CREATE INDEX reminder_schedule_due ON reminder_schedule (next_at) WHERE next_at IS NOT NULL;

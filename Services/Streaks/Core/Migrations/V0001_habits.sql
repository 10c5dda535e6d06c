-- Habits (HA-*): what they are, the part of their day ledgers that other kinds of streak do not have, and what became of each of their dates.
-- Everything of a user carries the number of the change that wrote it last (`sequence`), so that devices find what is new (HA-7).

-- A user's habits as a whole. Its row is locked by every change of them: a later number is never visible before an earlier one.
CREATE TABLE habit_account (
    user_id uuid PRIMARY KEY,
    -- The newest number that was given out.
    sequence bigint NOT NULL DEFAULT 1,
    -- Raised by a restore and by clearing: devices begin anew.
    epoch integer NOT NULL DEFAULT 1,
    -- Settings of the app (HabitSettings); the number of their newest change.
    first_day_of_week smallint NOT NULL DEFAULT 1,
    theme text NOT NULL DEFAULT 'auto',
    accent_color text NOT NULL DEFAULT '#6366F1',
    haptics boolean NOT NULL DEFAULT true,
    animations boolean NOT NULL DEFAULT true,
    onboarded boolean NOT NULL DEFAULT false,
    -- Minutes after midnight that new habits are offered for their reminder.
    reminder_minute smallint,
    settings_sequence bigint NOT NULL DEFAULT 1,
    backed_up_at timestamptz,
    created_at timestamptz NOT NULL
);

CREATE TABLE habit_category (
    user_id uuid NOT NULL,
    -- Made by the client or here: another user's may be the same.
    id uuid NOT NULL,
    name text NOT NULL,
    -- Trimmed, normalized and case-folded: names are compared by it.
    name_key text NOT NULL,
    color text NOT NULL,
    icon text NOT NULL,
    position integer NOT NULL,
    -- Of the user's own; the five of the start are not.
    is_custom boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, name_key)
);
CREATE INDEX habit_category_sequence ON habit_category (user_id, sequence);

CREATE TABLE habit (
    user_id uuid NOT NULL,
    -- Made by the client or here: another user's may be the same.
    id uuid NOT NULL,
    streak_id uuid NOT NULL UNIQUE REFERENCES streak (id) ON DELETE CASCADE,
    name text NOT NULL,
    name_key text NOT NULL,
    description text NOT NULL DEFAULT '',
    color text NOT NULL,
    icon text NOT NULL,
    category_id uuid,
    -- What the target counts: pages, minutes.
    unit text NOT NULL DEFAULT '',
    -- Minutes after midnight; null: no reminder.
    reminder_minute smallint,
    -- 0 = Sunday … 6; null: when it is due.
    reminder_days integer[],
    -- How often its reminder was put off on a date; the feature of reminders writes it.
    snooze_date date,
    snoozes smallint NOT NULL DEFAULT 0,
    position integer NOT NULL,
    archived_at timestamptz,
    -- Deleted, and gone for good 30 days later.
    deleted_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- The date of the earliest completion, when it lies before the creation (HA-11).
    starts_on date,
    -- What follows from the fold: as of this date of the user's clock, and in which unit `streak.current_count` counts (1 dates, 2 weeks).
    as_of date NOT NULL,
    counts smallint NOT NULL DEFAULT 1,
    longest_dates integer NOT NULL DEFAULT 0,
    longest_weeks integer NOT NULL DEFAULT 0,
    -- The week of `as_of`; null unless weeks are counted.
    week_first date,
    week_last date,
    week_done smallint,
    week_excused smallint,
    week_needed smallint,
    week_left smallint,
    week_is_cut boolean,
    sequence bigint NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, category_id) REFERENCES habit_category (user_id, id) ON DELETE SET NULL (category_id)
);
CREATE UNIQUE INDEX habit_name ON habit (user_id, name_key) WHERE deleted_at IS NULL;
CREATE INDEX habit_category_id ON habit (user_id, category_id);
CREATE INDEX habit_sequence ON habit (user_id, sequence);
CREATE INDEX habit_deleted ON habit (deleted_at) WHERE deleted_at IS NOT NULL;

-- Schedule, target and week start as they hold from a date on (HA-10).
CREATE TABLE habit_version (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    from_date date NOT NULL,
    -- 1 daily, 2 weekdays, 3 every n-th date, 4 days of the month, 5 times a week.
    schedule smallint NOT NULL,
    -- Weekdays (0 = Sunday … 6), days of the month, or the one number n.
    numbers integer[] NOT NULL,
    -- What every n-th date is counted from.
    anchor date,
    -- In thousandths.
    target bigint,
    week_start smallint NOT NULL,
    PRIMARY KEY (streak_id, from_date)
);

-- What was done of a habit on a date. Unlike contributions of other kinds, there may be several a date, and the user changes and deletes them.
CREATE TABLE habit_completion (
    user_id uuid NOT NULL,
    -- Made by the client or here: another user's may be the same.
    id uuid NOT NULL,
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    on_date date NOT NULL,
    -- In thousandths; null: it completes its date whatever the target.
    amount bigint,
    note text NOT NULL DEFAULT '',
    -- 1 great, 2 good, 3 okay, 4 bad.
    mood smallint,
    -- When it was done, and the minute of the day by the user's clock then; null when only the date is known.
    done_at timestamptz,
    minute smallint,
    received_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (user_id, id)
);
-- With the minute, for statistics of the times of day.
CREATE INDEX habit_completion_date ON habit_completion (streak_id, on_date) INCLUDE (minute);
CREATE INDEX habit_completion_sequence ON habit_completion (user_id, sequence, id);
CREATE INDEX habit_completion_note ON habit_completion (streak_id, on_date) WHERE note <> '';

CREATE TABLE habit_skip (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    on_date date NOT NULL,
    user_id uuid NOT NULL,
    skipped_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (streak_id, on_date)
);
CREATE INDEX habit_skip_sequence ON habit_skip (user_id, sequence);

-- Times in the archive (HA-13), in order.
CREATE TABLE habit_archiving (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    place integer NOT NULL,
    from_date date NOT NULL,
    -- The first date that counts again; null: archived still.
    until_date date,
    PRIMARY KEY (streak_id, place)
);

-- Milestones that were reported, in order (HA-11).
CREATE TABLE habit_milestone (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    place integer NOT NULL,
    count integer NOT NULL,
    -- 1 dates, 2 weeks.
    counts smallint NOT NULL,
    on_date date NOT NULL,
    PRIMARY KEY (streak_id, place)
);

-- What became of each date (HabitDay): what the fold says as of `habit.as_of`, from the start to that date. May be made again at any time.
CREATE TABLE habit_day (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    on_date date NOT NULL,
    -- HabitDay.Status and HabitDay.Outcome.
    status smallint NOT NULL,
    value bigint NOT NULL,
    completions integer NOT NULL,
    target bigint,
    is_open boolean NOT NULL,
    outcome smallint,
    due_dates smallint NOT NULL,
    broke_run boolean NOT NULL,
    -- Statistics of years read these from the index alone: the rows of one habit lie far apart, each written on its own date.
    PRIMARY KEY (streak_id, on_date) INCLUDE (status, outcome, due_dates, completions, value)
);

-- The runs of a habit, by the date they begin with. May be made again at any time.
CREATE TABLE habit_run (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    from_date date NOT NULL,
    through_date date NOT NULL,
    count integer NOT NULL,
    counts smallint NOT NULL,
    -- 1 missed, 2 another schedule; null while it runs.
    ended smallint,
    -- The missed date, or the first of the other schedule.
    ended_on date,
    PRIMARY KEY (streak_id, from_date)
);

-- A user's note on a date.
CREATE TABLE habit_day_note (
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    note text NOT NULL,
    updated_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (user_id, on_date)
);
CREATE INDEX habit_day_note_sequence ON habit_day_note (user_id, sequence);

-- What was deleted, for devices that have it still; kept for 400 days.
CREATE TABLE habit_tombstone (
    user_id uuid NOT NULL,
    -- HabitEntity: 1 habit, 2 category, 3 completion, 4 skip, 5 day note.
    entity smallint NOT NULL,
    -- The id; of a skip the habit's id and the date, of a day note the date.
    key text NOT NULL,
    sequence bigint NOT NULL,
    deleted_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, entity, key)
);
CREATE INDEX habit_tombstone_sequence ON habit_tombstone (user_id, sequence);
CREATE INDEX habit_tombstone_age ON habit_tombstone (deleted_at);

ALTER TABLE streak_checkpoint ADD COLUMN longest_weeks integer NOT NULL DEFAULT 0;

-- The streak of a circle (TS-4), from the time the circle had two members first, until it is deleted.
CREATE TABLE team (
    circle_id uuid PRIMARY KEY,
    streak_id uuid NOT NULL UNIQUE,
    -- When the circle may have to be notified that the streak may break; null when nothing is at stake.
    remind_at timestamptz,
    -- The newest date that was handled.
    reminded_for date
);
CREATE INDEX team_due ON team (remind_at) WHERE remind_at IS NOT NULL;

-- Check-ins of members, for the circle's feed: never what they noted about themselves. The truth about the streak is its ledger.
CREATE TABLE team_check_in (
    id uuid PRIMARY KEY,
    circle_id uuid NOT NULL,
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    checked_in_at timestamptz NOT NULL,
    -- To this circle, and not by the daily check-in.
    to_circle boolean NOT NULL,
    -- The member's own check-in streak after it; null while it is not known.
    streak_count integer,
    UNIQUE (circle_id, user_id, on_date)
);
CREATE INDEX team_check_in_feed ON team_check_in (circle_id, checked_in_at DESC, id DESC);
CREATE INDEX team_check_in_user ON team_check_in (user_id);

-- Streaks whose place on a leaderboard has changed, written in the transaction that changes them and read by every replica within
-- a second. Append-only: no two transactions meet in it. A row holds one streak, or those of a settled batch. Kept for five
-- minutes.
CREATE TABLE board_change (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    streaks uuid[] NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Who has looked at a leaderboard in which week, for the share of users who do: two weeks of it.
CREATE TABLE leaderboard_view (
    user_id uuid NOT NULL,
    -- The Monday.
    week date NOT NULL,
    PRIMARY KEY (user_id, week)
);
CREATE INDEX leaderboard_view_week ON leaderboard_view (week);

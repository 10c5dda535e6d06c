-- What users have earned by streaks of their own (CI-5): once each, for ever. Read by several features.
CREATE TABLE badge (
    user_id uuid NOT NULL,
    -- fresh_start, getting_started, …
    badge text NOT NULL,
    earned_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, badge)
);

-- What counts have opened for a user (CI-5).
CREATE TABLE unlock (
    user_id uuid NOT NULL,
    -- flame_color_gold, hall_of_fame, …
    unlock text NOT NULL,
    earned_at timestamptz NOT NULL,
    -- The user has switched it off.
    is_off boolean NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, unlock)
);
-- The public list of those who reached a year.
CREATE INDEX unlock_hall_of_fame ON unlock (earned_at, user_id) WHERE unlock = 'hall_of_fame' AND NOT is_off;

-- Milestones whose celebration the user has seen.
CREATE TABLE celebration (
    user_id uuid NOT NULL,
    -- The milestone's count.
    count integer NOT NULL,
    celebrated_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, count)
);

-- What everyone sees of a user's rewards besides the badge and the unlocks, and the version of what was emitted (D13).
CREATE TABLE public_rewards (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0,
    -- The flame that was chosen: orange, gold, diamond, rainbow; null: the best that was earned.
    flame text
);

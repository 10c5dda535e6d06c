-- What everyone sees of what a user's check-ins have earned, as streaks emits it (D13).
CREATE TABLE profile_rewards (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    -- The badge of the highest count, and all of them.
    badge text,
    badges text[] NOT NULL,
    titles text[] NOT NULL,
    gold_frame boolean NOT NULL,
    crown boolean NOT NULL,
    flame text NOT NULL
);

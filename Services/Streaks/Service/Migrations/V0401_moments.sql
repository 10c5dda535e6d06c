-- When to look next whether there is something to tell a person of: their snap window, a day that ends with streaks at risk (PW-2, NO-5).
-- One row a person who has ever had a streak; it keeps what was told, so that no date is told twice.
CREATE TABLE user_moment (
    user_id uuid PRIMARY KEY,
    -- Moments before this instant are nobody's: there was no running streak.
    since timestamptz NOT NULL,
    -- Null while the person has no running streak.
    next_at timestamptz,
    -- The newest date of each kind that was dealt with.
    opened_for date,
    closing_for date,
    ending_for date
);
CREATE INDEX user_moment_due ON user_moment (next_at) WHERE next_at IS NOT NULL;

INSERT INTO user_moment (user_id, since, next_at)
SELECT user_a, now(), now() FROM streak WHERE status = 1 UNION SELECT user_b, now(), now() FROM streak WHERE status = 1;

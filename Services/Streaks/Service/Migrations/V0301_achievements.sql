-- What people have earned (MS-7): once each, for ever.
CREATE TABLE achievement (
    user_id uuid NOT NULL,
    -- 7_day_warrior, …
    kind text NOT NULL,
    earned_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, kind)
);

-- What achievements and statistics are counted from besides the streaks themselves.
ALTER TABLE user_stats
    -- Snaps of which it is known whether they were inside their window; those before this migration are not.
    ADD COLUMN timed_photos integer NOT NULL DEFAULT 0,
    ADD COLUMN on_time_photos integer NOT NULL DEFAULT 0,
    -- Recovery tokens spent and not given back.
    ADD COLUMN recoveries_used integer NOT NULL DEFAULT 0,
    -- Streaks that broke and then ended: their rows no longer say that they broke. And those of them that the user alone broke.
    ADD COLUMN ended_breaks integer NOT NULL DEFAULT 0,
    ADD COLUMN ended_breaks_by_user integer NOT NULL DEFAULT 0;

-- Those who have long streaks already. The date their count was reached: counted back from the last completed one, which is right unless
-- dates were skipped in between.
INSERT INTO achievement (user_id, kind, earned_at)
SELECT person, kind, min(least(reached, looked_at))
FROM (
    SELECT person, kind, looked_at,
        (coalesce(last_completed_date, looked_at::date) - greatest(current_count - target, 0) + 1)::timestamp AT TIME ZONE 'UTC' AS reached
    FROM streak CROSS JOIN LATERAL (VALUES (user_a), (user_b)) AS people (person)
        JOIN (VALUES ('7_day_warrior', 7), ('30_day_legend', 30), ('100_day_immortal', 100)) AS earned (kind, target)
            ON longest_count >= target
) AS long
WHERE NOT EXISTS (SELECT 1 FROM purged_user WHERE user_id = person)
GROUP BY person, kind;

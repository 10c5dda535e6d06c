-- What users did, until it is counted (TS-5): a row each time, deleted when it is looked at. Consumers and requests that work side by side
-- never wait for one row. A table of its own: the release before this one runs beside it, and would drop what it does not know.
CREATE TABLE analytics_activity (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id uuid NOT NULL,
    -- The user's date that it counts for.
    day date NOT NULL
);
CREATE INDEX analytics_activity_user ON analytics_activity (user_id);

-- Who is counted as active for which date: once. Kept for as long as something may come late for the date.
CREATE TABLE analytics_active_user (
    user_id uuid NOT NULL,
    day date NOT NULL,
    PRIMARY KEY (user_id, day)
);
CREATE INDEX analytics_active_user_day ON analytics_active_user (day);

-- The streaks of friends (kind 1) that were there before their events were counted. What of each is in the figures (metrics 19 to 24), from
-- today on; the job goes on from there.
INSERT INTO analytics_streak (streak_id, current_count, longest_count)
SELECT id, CASE WHEN status = 1 THEN current_count ELSE 0 END, longest_count FROM streak WHERE kind = 1 AND status <> 3
ON CONFLICT DO NOTHING;

INSERT INTO analytics_daily (day, kind, metric, bucket, value)
SELECT (now() AT TIME ZONE 'UTC')::date, 1, metric, bucket, sum(value)
FROM streak, LATERAL (VALUES
    (19, 0, 1), (20, 0, current_count), (21, 0, (current_count >= 7)::integer), (22, 0, (current_count >= 30)::integer),
    (23, 0, (current_count >= 100)::integer)) AS part (metric, bucket, value)
WHERE kind = 1 AND status = 1 AND current_count > 0 GROUP BY metric, bucket HAVING sum(value) <> 0
UNION ALL
SELECT (now() AT TIME ZONE 'UTC')::date, 1, 24, bucket, count(*)
FROM streak, LATERAL (SELECT max(first) AS bucket FROM unnest(ARRAY[0, 1, 7, 30, 100, 365]) AS first WHERE first <= longest_count) AS found
WHERE kind = 1 AND status <> 3 GROUP BY bucket;

-- What their rates are of: streaks that began (2), runs, and milestones (10), which were reached when the run was so long at the earliest.
INSERT INTO analytics_daily (day, kind, metric, bucket, value)
SELECT (started_at AT TIME ZONE 'UTC')::date AS day, 1, 2, 0, count(*) FROM streak WHERE kind = 1 GROUP BY day
UNION ALL
SELECT run_start + reached - 1 AS day, 1, 10, reached, count(*)
FROM streak, LATERAL (SELECT unnest(ARRAY[7, 14, 30, 50, 100, 200, 365]) UNION ALL SELECT generate_series(400, longest_count, 100))
    AS milestone (reached)
WHERE kind = 1 AND run_start IS NOT NULL AND longest_count >= reached GROUP BY day, reached;

INSERT INTO analytics_run (streak_id, run_start, kind, broken_on)
SELECT id, run_start, 1, CASE status WHEN 1 THEN NULL WHEN 2 THEN missed_date ELSE last_completed_date + 1 END
FROM streak WHERE kind = 1 AND run_start IS NOT NULL ON CONFLICT DO NOTHING;

-- What is counted per user as it happens, and the version of the totals that were emitted (D13).
CREATE TABLE user_stats (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0,
    total_photos integer NOT NULL DEFAULT 0,
    -- Snaps of which it is known whether they were inside their window, and those that were (PW-3).
    timed_photos integer NOT NULL DEFAULT 0,
    on_time_photos integer NOT NULL DEFAULT 0,
    -- Recovery tokens spent and not given back.
    recoveries_used integer NOT NULL DEFAULT 0,
    -- Streaks that broke and then ended: their rows no longer say that they broke. And those of them that the user alone broke.
    ended_breaks integer NOT NULL DEFAULT 0,
    ended_breaks_by_user integer NOT NULL DEFAULT 0
);

-- What users have earned (MS-7): once each, for ever.
CREATE TABLE achievement (
    user_id uuid NOT NULL,
    -- 7_day_warrior, …
    kind text NOT NULL,
    earned_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, kind)
);

-- Users whose totals were changed by a settled batch and are not emitted yet: a row a batch, deleted when they are. Ids only, for seconds.
CREATE TABLE stale_totals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    users uuid[] NOT NULL,
    noted_at timestamptz NOT NULL
);

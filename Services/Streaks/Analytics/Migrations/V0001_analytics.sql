-- What events said and the figures do not have yet (TS-5): a row an event and metric, deleted when it is added. So consumers that
-- work side by side never wait for one row.
CREATE TABLE analytics_fact (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- StreakKind; 0: of no kind.
    kind smallint NOT NULL,
    -- AnalyticsMetric.
    metric smallint NOT NULL,
    day date NOT NULL,
    bucket integer NOT NULL DEFAULT 0,
    amount bigint NOT NULL DEFAULT 1,
    -- The streak that it is about, and the run's first date or the missed date, for the runs.
    streak_id uuid,
    run_date date
);

-- The figures: sums, which name no user.
CREATE TABLE analytics_daily (
    day date NOT NULL,
    kind smallint NOT NULL,
    metric smallint NOT NULL,
    bucket integer NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (day, kind, metric, bucket)
);

-- What of each streak is in the figures.
CREATE TABLE analytics_streak (
    streak_id uuid PRIMARY KEY,
    current_count integer NOT NULL,
    longest_count integer NOT NULL
);

-- The runs of streaks, for the cohorts: since when, and the date whose miss ended them.
CREATE TABLE analytics_run (
    streak_id uuid NOT NULL,
    run_start date NOT NULL,
    kind smallint NOT NULL,
    broken_on date,
    PRIMARY KEY (streak_id, run_start)
);
CREATE INDEX analytics_run_start ON analytics_run (run_start, kind);

-- Whether a user is premium, as far as the figures know: a change to premium is a conversion.
CREATE TABLE analytics_subscriber (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    is_premium boolean NOT NULL
);

-- What was sold.
CREATE TABLE analytics_sale (
    day date NOT NULL,
    item text NOT NULL,
    purchases bigint NOT NULL,
    coins bigint NOT NULL,
    usd_milli bigint NOT NULL,
    -- By users who had never bought the item before.
    first_purchases bigint NOT NULL,
    PRIMARY KEY (day, item)
);

-- Who has ever bought an item: a first purchase counts once.
CREATE TABLE analytics_buyer (
    user_id uuid NOT NULL,
    item text NOT NULL,
    PRIMARY KEY (user_id, item)
);

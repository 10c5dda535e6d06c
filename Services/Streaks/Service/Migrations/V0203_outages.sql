-- Times in which we could not be reached, as an operator declared them (SD-7): part of every streak's ledger.
CREATE TABLE outage (
    id uuid PRIMARY KEY,
    from_at timestamptz NOT NULL,
    until_at timestamptz NOT NULL,
    -- From this instant on every ledger knows it; null until a replica has taken it up.
    declared_at timestamptz,
    -- How far the streaks it touches have been looked at: 1 broken ones by the instant of the break, 2 running ones by their deadline.
    phase smallint NOT NULL DEFAULT 1,
    reached_at timestamptz,
    reached_id uuid,
    looked_at_streaks integer NOT NULL DEFAULT 0,
    finished_at timestamptz,
    UNIQUE (from_at, until_at),
    CHECK (from_at < until_at)
);
CREATE INDEX streak_broken_at ON streak (broken_at, id) WHERE status = 2;

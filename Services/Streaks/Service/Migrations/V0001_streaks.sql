-- Streaks with the state their ledger folded to at the last look. The ledger is the truth; these columns serve lists and due work.
CREATE TABLE streak (
    id uuid PRIMARY KEY,
    friendship_id uuid UNIQUE,
    user_a uuid NOT NULL,
    user_b uuid NOT NULL,
    started_at timestamptz NOT NULL,
    -- StreakStatus of the proto: 1 active, 2 broken, 3 ended.
    status smallint NOT NULL DEFAULT 1,
    current_count integer NOT NULL DEFAULT 0,
    longest_count integer NOT NULL DEFAULT 0,
    last_completed_date date,
    deadline_at timestamptz,
    at_risk_from timestamptz,
    -- When the earliest open date must be settled; null while nothing can break (SD-8).
    next_due timestamptz,
    broken_by uuid,
    broken_at timestamptz,
    missed_date date,
    ended_at timestamptz,
    photo_count integer NOT NULL DEFAULT 0,
    -- Effects up to this instant have been told (SD-5).
    looked_at timestamptz NOT NULL,
    CHECK (user_a < user_b)
);
-- At most one running streak a pair (MS-1).
CREATE UNIQUE INDEX streak_pair ON streak (user_a, user_b) WHERE status = 1;
CREATE INDEX streak_user_a ON streak (user_a, status);
CREATE INDEX streak_user_b ON streak (user_b, status);
CREATE INDEX streak_due ON streak (next_due) WHERE next_due IS NOT NULL;

-- The day ledger: who posted for which of their dates. The primary key is what makes two devices at once count once (PH-1).
CREATE TABLE contribution (
    streak_id uuid NOT NULL REFERENCES streak (id),
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    received_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    operation_id uuid NOT NULL,
    PRIMARY KEY (streak_id, on_date, user_id)
);

-- Which zone a person's clock followed since when (SD-3); the first row of a person holds for all time before it.
CREATE TABLE zone_change (
    user_id uuid NOT NULL,
    since timestamptz NOT NULL,
    zone text NOT NULL,
    PRIMARY KEY (user_id, since)
);

-- The answer each operation got: a repeat gets it again (D6).
CREATE TABLE contribution_operation (
    operation_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    reply bytea,
    recorded_at timestamptz NOT NULL
);
CREATE INDEX contribution_operation_age ON contribution_operation (recorded_at);

-- What a friendship got when it asked for its streak and none could start (SO-2).
CREATE TABLE refused_start (
    friendship_id uuid PRIMARY KEY,
    reason text NOT NULL,
    refused_at timestamptz NOT NULL
);

-- Totals that auth shows in the profile.
CREATE TABLE user_stats (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0,
    total_photos integer NOT NULL DEFAULT 0
);

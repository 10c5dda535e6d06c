-- Dates that a freeze of a check-in streak was spent on and that it still holds: Ice Warrior and Consistency (CI-5).
CREATE TABLE frozen_date (
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    PRIMARY KEY (user_id, on_date)
);

-- Freezes that users have bought: Investor. One row for each purchase, so that none counts twice.
CREATE TABLE acquired_freeze (
    operation_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    count integer NOT NULL CHECK (count > 0),
    bought_at timestamptz NOT NULL
);
CREATE INDEX acquired_freeze_user ON acquired_freeze (user_id);

-- The free repair a year of who has reached 100: when the next one is given.
CREATE TABLE yearly_repair (
    user_id uuid PRIMARY KEY,
    next_at timestamptz NOT NULL,
    -- How many were given.
    given integer NOT NULL DEFAULT 0
);
CREATE INDEX yearly_repair_due ON yearly_repair (next_at);

-- Medals that users have asked for (CI-5): one each.
CREATE TABLE medal (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL UNIQUE,
    -- MedalStatus of the proto: 1 requested, 2 sent, 3 declined.
    status smallint NOT NULL DEFAULT 1,
    name text NOT NULL,
    line1 text NOT NULL,
    line2 text,
    city text NOT NULL,
    region text,
    postal_code text,
    country text NOT NULL,
    requested_at timestamptz NOT NULL,
    decided_at timestamptz,
    -- The administrator.
    decided_by uuid,
    tracking_code text,
    note text
);
CREATE INDEX medal_list ON medal (status, requested_at, id);
CREATE INDEX medal_decided_by ON medal (decided_by) WHERE decided_by IS NOT NULL;

-- What a user reported for a date: the latest of each value (CI-1). Health data: deleted with the account.
CREATE TABLE tracking_entry (
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    id uuid NOT NULL UNIQUE,
    mood_score smallint,
    energy_level smallint,
    weight_kg double precision,
    steps integer,
    notes text,
    -- great, ok, not_great: on the first date of a run.
    yesterday_feeling text,
    -- When the check-in that counted for the date was received; null: none has.
    checked_in_at timestamptz,
    -- TrackedActivity, each once, in the order of their first.
    activities text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    updated_at timestamptz,
    -- Reports after the check-in.
    later_reports integer NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, on_date)
);
CREATE INDEX tracking_entry_weight ON tracking_entry (user_id, on_date) WHERE weight_kg IS NOT NULL;
CREATE INDEX tracking_entry_check_in ON tracking_entry (user_id, on_date) WHERE checked_in_at IS NOT NULL;

-- Every call that reported something for a date, as it was received.
CREATE TABLE tracking_update (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    told_at timestamptz NOT NULL,
    mood_score smallint,
    energy_level smallint,
    weight_kg double precision,
    steps integer,
    notes text,
    activities text[] NOT NULL DEFAULT '{}'
);
CREATE INDEX tracking_update_date ON tracking_update (user_id, on_date, told_at);

-- From how many steps a log counts, when the person has said.
CREATE TABLE tracking_goal (
    user_id uuid PRIMARY KEY,
    steps integer NOT NULL
);

-- When users reached milestones of their check-in streak first (CI-5).
CREATE TABLE check_in_milestone (
    user_id uuid NOT NULL,
    days integer NOT NULL,
    reached_on date NOT NULL,
    reached_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, days)
);

-- Freezes spent on dates of check-in streaks (CI-2): a log of what the ledger folds to.
CREATE TABLE freeze_use (
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    by_hand boolean NOT NULL,
    -- The count with the frozen date.
    streak_count integer NOT NULL,
    used_at timestamptz NOT NULL,
    -- It was not needed after all.
    returned_at timestamptz,
    PRIMARY KEY (user_id, on_date)
);

-- Purchases of freezes (CI-2), recorded before anything is paid.
CREATE TABLE freeze_purchase (
    operation_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    quantity integer NOT NULL,
    -- stripe, apple_pay, google_pay, xp, coins.
    method text NOT NULL,
    begun_at timestamptz NOT NULL,
    -- Null until the freezes are in hand. Prices in thousandths of the currency.
    bought_at timestamptz,
    price_milli bigint,
    currency text,
    transaction_id text,
    -- In hand after it, as the answer said.
    freezes_left integer
);
CREATE INDEX freeze_purchase_user ON freeze_purchase (user_id, begun_at);

-- Repairs of check-in streaks (CI-3).
CREATE TABLE check_in_repair (
    operation_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- The count that came back, and the user's date on which it did.
    streak_count integer NOT NULL,
    repaired_on date NOT NULL,
    repaired_at timestamptz NOT NULL,
    -- stripe, apple_pay, google_pay, xp, coins, free_pro_repair, credit.
    method text NOT NULL,
    price_milli bigint NOT NULL,
    currency text NOT NULL,
    transaction_id text NOT NULL,
    -- The date was completed after all: the payment came back, and the cooldown is clear.
    returned_at timestamptz
);
CREATE INDEX check_in_repair_user ON check_in_repair (user_id, repaired_at);

-- Why users paused (CI-4); the pause itself is in the streak's ledger.
CREATE TABLE check_in_pause (
    user_id uuid NOT NULL,
    paused_at timestamptz NOT NULL,
    from_date date NOT NULL,
    until_date date NOT NULL,
    -- vacation, illness, life_event, other.
    reason text NOT NULL,
    notes text,
    PRIMARY KEY (user_id, paused_at)
);

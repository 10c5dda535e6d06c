-- The fold of a streak's ledger up to a date that nothing ordinary can re-open: what lies before it is not loaded to change the streak.
-- The ledger stays whole; a checkpoint may be deleted at any time.
CREATE TABLE streak_checkpoint (
    streak_id uuid PRIMARY KEY REFERENCES streak (id) ON DELETE CASCADE,
    settled_through date NOT NULL,
    current_count integer NOT NULL,
    longest_count integer NOT NULL,
    last_completed_date date,
    run_start date,
    -- Times in which the streak was taken for broken although it was not: from and until, side by side.
    closed_from timestamptz[] NOT NULL,
    closed_until timestamptz[] NOT NULL
);

-- When a user's XP counted half as many again (TS-3). An interval that begins before another has ended begins at its end.
CREATE TABLE booster (
    -- What began it.
    operation_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    begins_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    CHECK (begins_at < ends_at)
);
CREATE INDEX booster_user ON booster (user_id, ends_at);

-- Dates on which a user's coins count twice (TS-2).
CREATE TABLE double_day (
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    operation_id uuid NOT NULL,
    -- It has made coins more: otherwise it comes back when the date is over.
    has_helped boolean NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, on_date)
);

-- What users have used of their goods, and what became of it (TS-3).
CREATE TABLE power_up (
    -- What the entry of the streak's ledger was asked for by.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    good text NOT NULL,
    -- The kind of the streak; null for what belongs to none.
    kind smallint,
    on_date date,
    -- PowerUpState of the proto: 1 active, 2 used, 3 returned, 4 expired.
    state smallint NOT NULL CHECK (state BETWEEN 1 AND 4),
    used_at timestamptz NOT NULL,
    -- Until when it holds; null when it does not end by time.
    held_until timestamptz,
    -- When it is looked at again, while it is active.
    due_at timestamptz,
    helped_on date,
    returned_at timestamptz
);
CREATE INDEX power_up_user ON power_up (user_id, used_at DESC, id DESC);
CREATE INDEX power_up_due ON power_up (due_at) WHERE state = 1 AND due_at IS NOT NULL;

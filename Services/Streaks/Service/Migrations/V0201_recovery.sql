-- Recovery tokens in the day ledger (RC-2, RC-3): part of the truth that `streak` is computed from.
CREATE TABLE streak_recovery (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    used_at timestamptz NOT NULL,
    user_id uuid NOT NULL,
    from_date date NOT NULL,
    through_date date NOT NULL,
    -- When the token turned out not to be needed; from then on it covers nothing.
    returned_at timestamptz,
    operation_id uuid NOT NULL UNIQUE,
    PRIMARY KEY (streak_id, used_at)
);

-- Recoveries on their way between billing and here (RC-4, D6), recorded before a token is asked for.
CREATE TABLE recovery_operation (
    id uuid PRIMARY KEY,
    streak_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- The date it is for: a token is never used for another one.
    for_date date NOT NULL,
    received_at timestamptz NOT NULL,
    -- 1 spending, 2 done, 3 returning, 4 void.
    state smallint NOT NULL DEFAULT 1,
    -- What was left when the token was taken; set in state 2.
    balance integer,
    -- Why it came to nothing; set in states 3 and 4.
    refusal_code integer,
    refusal_reason text,
    refusal_message text,
    -- Until when somebody drives it, by the machine's clock.
    lease_until timestamptz NOT NULL
);
-- Of two who recover at once, one begins.
CREATE UNIQUE INDEX recovery_operation_streak ON recovery_operation (streak_id) WHERE state IN (1, 3);
CREATE INDEX recovery_operation_waiting ON recovery_operation (lease_until) WHERE state IN (1, 3);
CREATE INDEX recovery_operation_age ON recovery_operation (received_at) WHERE state IN (2, 4);
CREATE INDEX recovery_operation_user ON recovery_operation (user_id);

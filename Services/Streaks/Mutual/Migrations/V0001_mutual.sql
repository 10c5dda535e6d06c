-- The friendship that a mutual streak belongs to; a friendship may have several, one after the other (MS-1).
CREATE TABLE mutual_streak (
    streak_id uuid PRIMARY KEY REFERENCES streak (id) ON DELETE CASCADE,
    friendship_id uuid NOT NULL
);
CREATE INDEX mutual_streak_friendship ON mutual_streak (friendship_id);

-- What a friendship got when it asked for its streak and none could start (SO-2).
CREATE TABLE refused_start (
    friendship_id uuid PRIMARY KEY,
    reason text NOT NULL,
    refused_at timestamptz NOT NULL
);

-- Friendships that are over: a start that was on its way when it ended comes too late. Kept for a day.
CREATE TABLE ended_friendship (
    friendship_id uuid PRIMARY KEY,
    ended_at timestamptz NOT NULL
);
CREATE INDEX ended_friendship_age ON ended_friendship (ended_at);

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
    -- Tokens left when this one was spent; set in state 2.
    balance integer,
    -- Why it came to nothing; set in states 3 and 4.
    refusal_code integer,
    refusal_reason text,
    refusal_message text,
    -- Until when a request or the job drives it, by the machine's clock.
    lease_until timestamptz NOT NULL
);
-- Of two who recover at once, one begins.
CREATE UNIQUE INDEX recovery_operation_streak ON recovery_operation (streak_id) WHERE state IN (1, 3);
CREATE INDEX recovery_operation_waiting ON recovery_operation (lease_until) WHERE state IN (1, 3);
CREATE INDEX recovery_operation_age ON recovery_operation (received_at) WHERE state IN (2, 4);
CREATE INDEX recovery_operation_user ON recovery_operation (user_id);

-- One row for each pair of users with a request or friendship at any time; the smaller id first.
CREATE TABLE friendship (
    user_low uuid NOT NULL,
    user_high uuid NOT NULL,
    -- New for each request, so that a second friendship of the two is another one.
    id uuid NOT NULL UNIQUE,
    -- 0 strangers, 1 pending, 2 accepted, 3 declined, 4 withdrawn, 5 ended
    state smallint NOT NULL,
    requester uuid NOT NULL,
    created_at timestamptz NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (user_low, user_high),
    CHECK (user_low < user_high)
);
-- A user's list in its whole order: nothing to sort.
CREATE INDEX friendship_low_order ON friendship (user_low, state, since DESC, id DESC);
CREATE INDEX friendship_high_order ON friendship (user_high, state, since DESC, id DESC);
-- Counting what is pending must not read what once was.
CREATE INDEX friendship_outgoing ON friendship (requester) WHERE state = 1;

-- Who blocks whom (SO-7). A row stays after unblocking: its id and version go on when the user blocks the other again.
CREATE TABLE block (
    id uuid PRIMARY KEY,
    blocker uuid NOT NULL,
    blocked uuid NOT NULL,
    version bigint NOT NULL,
    active boolean NOT NULL,
    changed_at timestamptz NOT NULL,
    UNIQUE (blocker, blocked),
    CHECK (blocker <> blocked)
);
CREATE INDEX block_list ON block (blocker, changed_at DESC, id DESC) WHERE active;

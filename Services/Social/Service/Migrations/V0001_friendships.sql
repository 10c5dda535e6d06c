-- One row for each pair that ever had to do with each other; the smaller id first.
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
CREATE INDEX friendship_low ON friendship (user_low, state, since DESC);
CREATE INDEX friendship_high ON friendship (user_high, state, since DESC);
CREATE INDEX friendship_requester ON friendship (requester, created_at);

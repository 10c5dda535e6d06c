-- When who nudged whom last (SO-6).
CREATE TABLE nudge (
    from_user uuid NOT NULL,
    to_user uuid NOT NULL,
    nudged_at timestamptz,
    PRIMARY KEY (from_user, to_user)
);

-- Who blocks whom (SO-7). A row stays after unblocking: its id and version go on when the one blocks the other again.
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

-- Who blocks whom, fed by social's UserBlocked and UserUnblocked (SO-7, D13). Ended blocks stay, for their versions.
CREATE TABLE block_replica (
    block_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    blocker uuid NOT NULL,
    blocked uuid NOT NULL,
    active boolean NOT NULL
);
CREATE INDEX block_replica_blocker ON block_replica (blocker, blocked) WHERE active;
CREATE INDEX block_replica_blocked ON block_replica (blocked, blocker) WHERE active;

-- Whether every block was fetched from social once.
CREATE TABLE block_snapshot (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    loaded_at timestamptz NOT NULL
);

-- Pairs one of whom has blocked the other, or no longer does (PH-6): the blob store is to be brought in line by a job, which deletes the row.
CREATE TABLE hidden_pair (
    one uuid NOT NULL,
    other uuid NOT NULL,
    -- Grows with each change, so that a job that was overtaken does not note its own as done.
    revision integer NOT NULL DEFAULT 1,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (one, other),
    CHECK (one < other)
);
CREATE INDEX hidden_pair_due ON hidden_pair (due_at);

-- Blocks that are known already.
INSERT INTO hidden_pair (one, other, due_at)
SELECT DISTINCT least(blocker, blocked), greatest(blocker, blocked), now() FROM block_replica WHERE active AND blocker <> blocked;

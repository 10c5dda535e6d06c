-- The stream that `outbox.published_at` refers to: what has left is in it. A stream that is another one, or ends before `last_sequence`,
-- has lost events; then they are published once more (D5).
CREATE TABLE outbox_stream (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- When the broker made the stream; NULL until it was first seen.
    made timestamptz,
    -- The highest sequence number of an event of ours that is noted as published.
    last_sequence bigint NOT NULL DEFAULT 0,
    -- Raised with each loss. What a relay of an earlier one has published is not noted.
    generation bigint NOT NULL DEFAULT 0,
    -- Whether rows are still being marked as not published. Nothing leaves meanwhile: it would overtake them.
    is_replaying boolean NOT NULL DEFAULT false
);
INSERT INTO outbox_stream DEFAULT VALUES;

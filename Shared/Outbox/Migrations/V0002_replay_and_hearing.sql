-- A replayed event leaves under a message id of its own, or the broker would drop it as a duplicate.
ALTER TABLE outbox ADD COLUMN replays integer NOT NULL DEFAULT 0;

-- Rows are forgotten by their age, not by when they were published last: a replay must not prolong their life past the inboxes'.
CREATE INDEX outbox_created ON outbox (created_at) WHERE published_at IS NOT NULL;
DROP INDEX outbox_published;

-- Which replica hears a stream: one at a time, so that events of one aggregate are heard in order.
CREATE TABLE hearing_lease (
    stream text PRIMARY KEY,
    holder uuid NOT NULL,
    held_until timestamptz NOT NULL
);

-- Events that this service emits (D5). Rows stay 7 days after they were published, for replay.
CREATE TABLE outbox (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    aggregate text NOT NULL,
    subject text NOT NULL,
    trace text NOT NULL,
    request_id text NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    published_at timestamptz,
    -- A replayed event leaves under a message id of its own, or the broker would drop it as a duplicate.
    replays integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_unpublished ON outbox (position) WHERE published_at IS NULL;
-- Replay and purge go by position, the oldest first: one index serves both, and grows at its end.
CREATE INDEX outbox_published ON outbox (position) WHERE published_at IS NOT NULL;

-- Which replica relays: one at a time, so that events of one aggregate leave in order.
CREATE TABLE outbox_lease (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    holder uuid NOT NULL,
    held_until timestamptz NOT NULL
);
INSERT INTO outbox_lease (holder, held_until) VALUES ('00000000-0000-0000-0000-000000000000', '-infinity');

-- Events that a feature has consumed: what makes a redelivered event happen once. Per feature, since a replica may run some features only.
CREATE TABLE inbox (
    event_id uuid NOT NULL,
    feature text NOT NULL,
    consumed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (event_id, feature)
);
CREATE INDEX inbox_consumed ON inbox (consumed_at);

-- Events whose handler failed, and those of the same aggregate that came after: tried again with back-off, parked in the end.
CREATE TABLE event_retry (
    event_id uuid NOT NULL,
    feature text NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    aggregate text NOT NULL,
    subject text NOT NULL,
    trace text NOT NULL,
    request_id text NOT NULL,
    body bytea NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    parked_at timestamptz,
    last_error text NOT NULL DEFAULT '',
    consumed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (event_id, feature)
);
CREATE INDEX event_retry_due ON event_retry (feature, next_attempt_at) WHERE parked_at IS NULL;
CREATE INDEX event_retry_aggregate ON event_retry (feature, aggregate, position);

-- Which replica reads a stream for a feature: one at a time, so that events of one aggregate are consumed in order. And how far the
-- feature has come: everything up to and including this message. The time is the broker's, and shows whether the stream still is the one
-- in which the message had this number. 0 without a time: nothing yet.
CREATE TABLE consumer_lease (
    feature text NOT NULL,
    stream text NOT NULL,
    holder uuid NOT NULL,
    held_until timestamptz NOT NULL,
    position bigint NOT NULL DEFAULT 0,
    position_at timestamptz,
    PRIMARY KEY (feature, stream)
);

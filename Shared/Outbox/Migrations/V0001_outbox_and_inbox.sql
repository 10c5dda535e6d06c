-- Events this service tells (D5). Rows stay 7 days after they were published, for replay.
CREATE TABLE outbox (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    aggregate text NOT NULL,
    subject text NOT NULL,
    trace text NOT NULL,
    request_id text NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    published_at timestamptz
);
CREATE INDEX outbox_unpublished ON outbox (position) WHERE published_at IS NULL;
CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL;

-- Which replica relays: one at a time, so that events of one aggregate leave in order.
CREATE TABLE outbox_lease (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    holder uuid NOT NULL,
    held_until timestamptz NOT NULL
);
INSERT INTO outbox_lease (holder, held_until) VALUES ('00000000-0000-0000-0000-000000000000', '-infinity');

-- Events this service has heard: what makes a redelivered event happen once.
CREATE TABLE inbox (
    event_id uuid PRIMARY KEY,
    heard_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX inbox_heard ON inbox (heard_at);

-- Events whose handler failed, and those of the same aggregate that came after: tried again with back-off, parked in the end.
CREATE TABLE event_retry (
    event_id uuid PRIMARY KEY,
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
    heard_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX event_retry_due ON event_retry (next_attempt_at) WHERE parked_at IS NULL;
CREATE INDEX event_retry_aggregate ON event_retry (aggregate, position);

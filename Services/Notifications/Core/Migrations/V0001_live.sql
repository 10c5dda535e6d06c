-- How many events each user has had: the id of the newest one (NO-7).
CREATE TABLE live_user (
    user_id uuid PRIMARY KEY,
    last_id bigint NOT NULL
);

-- Events for open apps, for 10 minutes: what a client that comes back has missed.
CREATE TABLE live_event (
    user_id uuid NOT NULL,
    -- Counts the user's events without gaps.
    id bigint NOT NULL,
    name text NOT NULL,
    -- A JSON object.
    data text NOT NULL,
    created_at timestamptz NOT NULL,
    is_published boolean NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX live_event_unpublished ON live_event (user_id, id) WHERE NOT is_published;
CREATE INDEX live_event_age ON live_event (created_at);

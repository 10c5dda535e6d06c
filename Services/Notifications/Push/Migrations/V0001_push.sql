-- The push service as all replicas share it. One row. Times are of the machine's clock.
CREATE TABLE push_provider (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- When the next request may begin, so that no second has more pushes than the provider takes.
    free_at timestamptz NOT NULL,
    -- Since it did not answer, or refused everything: nothing is handed over until a request without effect has been answered.
    must_probe boolean NOT NULL DEFAULT false,
    -- Nothing is asked before.
    away_until timestamptz NOT NULL,
    failures integer NOT NULL DEFAULT 0
);
INSERT INTO push_provider (free_at, away_until) VALUES (clock_timestamp(), clock_timestamp());

-- Connections to the push service: one row each that all replicas together may have open.
CREATE TABLE push_slot (
    slot integer PRIMARY KEY,
    holder uuid,
    -- By the machine's clock.
    held_until timestamptz NOT NULL
);
INSERT INTO push_slot (slot, held_until) SELECT slot, clock_timestamp() FROM generate_series(1, 6) AS slot;

-- Sessions that have ended, for a day: a request of one that was under way must not register a device after it.
CREATE TABLE ended_session (
    session_id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    ended_at timestamptz NOT NULL
);
CREATE INDEX ended_session_age ON ended_session (ended_at);
CREATE INDEX ended_session_user ON ended_session (user_id);

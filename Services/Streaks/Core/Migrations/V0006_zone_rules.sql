-- Rules of zones that change under running streaks (SD-1, SD-3). Only adds: the release before this one writes and reads on.

-- An entry that was added when a zone's rules changed, so that the clock's past stays what it was: no change of the user's. A change of theirs
-- that arrives later, and was made before it, takes its place.
ALTER TABLE zone_change ADD COLUMN keeps_rules boolean NOT NULL DEFAULT false;

-- Which version of the tz database ledgers are settled with, in every replica, and how far a newer one has been taken up. One row.
CREATE TABLE zone_data (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- As IANA names it: 2026f.
    version text NOT NULL,
    -- Grows with every change of rules: what replicas look at.
    revision bigint NOT NULL,
    -- The version that is being taken up, and since when it is known here; null: none.
    target text,
    target_since timestamptz,
    -- The zones whose turn it is.
    zones text[] NOT NULL DEFAULT '{}',
    -- From this instant on they go by the new rules; null while the past of their users' clocks is being kept.
    kept_at timestamptz,
    -- The last user who was dealt with, in the order of ids.
    reached_id uuid
);

-- The rules of each zone that ledgers are settled with, compiled (TZif), and those that will take their place.
CREATE TABLE zone_rules (
    zone text PRIMARY KEY,
    rules bytea NOT NULL,
    revision bigint NOT NULL,
    next_rules bytea
);

-- Users who were greeted, or whose names are known.
CREATE TABLE visitor (
    user_id uuid PRIMARY KEY,
    greetings bigint NOT NULL DEFAULT 0,
    -- As auth emitted it last; empty as long as it has not.
    display_name text NOT NULL DEFAULT '',
    -- Grows with every change of the profile: an older one never overwrites a newer.
    profile_version bigint NOT NULL DEFAULT 0
);

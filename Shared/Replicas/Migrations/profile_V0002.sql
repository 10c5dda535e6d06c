-- Whether everybody was fetched from auth once (D13): events tell only of those who changed since the stream began.
CREATE TABLE profile_snapshot (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    loaded_at timestamptz NOT NULL
);

-- Whether all users were fetched from auth once (D13): the stream has only those who changed since it began.
CREATE TABLE profile_snapshot (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    loaded_at timestamptz NOT NULL
);

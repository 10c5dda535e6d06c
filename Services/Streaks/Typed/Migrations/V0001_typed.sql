-- Missed dates of typed streaks whose breaks were undone: the history says which runs were restored.
CREATE TABLE typed_restore (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    PRIMARY KEY (streak_id, on_date)
);
CREATE INDEX typed_restore_user ON typed_restore (user_id);

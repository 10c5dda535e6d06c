-- What a user who wants everything of their habits deleted must confirm (ClearHabitData): the second step sends the token of the first.
CREATE TABLE habit_clearing (
    user_id uuid PRIMARY KEY,
    token uuid NOT NULL,
    expires_at timestamptz NOT NULL
);

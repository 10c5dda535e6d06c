-- How many friendships and circles of a user ended with the deletion of the account (AU-7): shown when it is restored. Deleted with its personal
-- data. Only adds: the release before this one writes and reads on.
CREATE TABLE ended_ties (
    user_id uuid NOT NULL,
    -- 1 friendships, 2 circles.
    kind smallint NOT NULL,
    deleted_at timestamptz NOT NULL,
    amount integer NOT NULL,
    PRIMARY KEY (user_id, kind)
);

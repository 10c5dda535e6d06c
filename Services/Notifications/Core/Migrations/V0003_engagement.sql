ALTER TABLE notification
    -- When the push service first took a push of an entry: figures say of how many entries that were pushed a user opened one (TS-5).
    ADD COLUMN pushed_at timestamptz,
    -- The circle that it is about.
    ADD COLUMN circle_id uuid,
    -- The code of an invitation to it; empty for all else.
    ADD COLUMN code text NOT NULL DEFAULT '';

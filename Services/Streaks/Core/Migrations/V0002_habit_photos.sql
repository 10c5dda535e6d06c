-- Photos of habits' dates are media's. This is what it last said of each, so that an older event never overwrites a newer.
CREATE TABLE habit_photo (
    user_id uuid NOT NULL,
    habit_id uuid NOT NULL,
    on_date date NOT NULL,
    -- Of the change that said so.
    version bigint NOT NULL,
    -- null: the date has none.
    photo_id uuid,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, habit_id, on_date)
);
CREATE INDEX habit_photo_gone ON habit_photo (changed_at) WHERE photo_id IS NULL;

-- The same photo on every completion of the date: what reads completions reads no other table for it.
ALTER TABLE habit_completion ADD COLUMN photo_id uuid;

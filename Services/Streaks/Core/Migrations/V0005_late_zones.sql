-- When a change of a zone came to the ledgers; until then dates were settled without it. Null: when it was made, as the release before this one
-- writes it.
ALTER TABLE zone_change ADD COLUMN recorded_at timestamptz;

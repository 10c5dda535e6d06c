-- Why an outage was declared, for those who read the list later.
ALTER TABLE outage ADD COLUMN reason text NOT NULL DEFAULT '';

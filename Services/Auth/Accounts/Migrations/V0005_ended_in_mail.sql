-- Mails about a restored account that say what has not come back with it: an EndedByDeletion of the protos. Null for every other mail, and when it
-- is not known. Only adds: the release before this one writes and reads on.
ALTER TABLE pending_mail ADD COLUMN ended bytea;

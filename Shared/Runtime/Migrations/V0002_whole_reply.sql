-- False while a reply is still to be completed after its transaction, by what other services say.
ALTER TABLE stored_reply ADD COLUMN is_whole boolean NOT NULL DEFAULT true;

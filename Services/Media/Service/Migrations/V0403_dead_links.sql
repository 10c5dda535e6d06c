-- After a block ends, the links of before stay dead (SO-7): the row is looked at again when they have expired.
ALTER TABLE hidden_pair ADD COLUMN is_shown boolean NOT NULL DEFAULT false;

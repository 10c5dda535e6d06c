-- What the files of a post take, for the quota of its author (D22); until they are stored what they may take, and 0 for posts of before.
ALTER TABLE place_post ADD COLUMN file_bytes bigint NOT NULL DEFAULT 0;

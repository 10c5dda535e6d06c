-- What the files of a post take, for the quota of its author (D22); 0 until they are stored, and for posts of before.
ALTER TABLE place_post ADD COLUMN file_bytes bigint NOT NULL DEFAULT 0;

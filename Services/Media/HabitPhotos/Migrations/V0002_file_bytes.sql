-- What the renditions of a photo take, for the quota of its owner (D22); 0 for photos of before.
ALTER TABLE habit_photo ADD COLUMN file_bytes bigint NOT NULL DEFAULT 0;

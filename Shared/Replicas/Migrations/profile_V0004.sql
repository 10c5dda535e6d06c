-- Local hour at which a person's snap window opens (PW-2).
ALTER TABLE profile_replica ADD COLUMN window_start_hour smallint NOT NULL DEFAULT 10;

-- Local hour at which the user's snap window opens (PW-2).
ALTER TABLE account ADD COLUMN window_start_hour smallint NOT NULL DEFAULT 10 CHECK (window_start_hour BETWEEN 0 AND 23);

-- The first counted date of the present run; NULL while there is none. Streaks that were stored before get it with their next change.
ALTER TABLE streak ADD COLUMN run_start date;

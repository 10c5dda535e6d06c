-- How much a report of a post counts for hiding it (SO-8): 0 to 2, by the age of the reporter's account and whether its address is confirmed.
ALTER TABLE report ADD COLUMN weight smallint NOT NULL DEFAULT 1;

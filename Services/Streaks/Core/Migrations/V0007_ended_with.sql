-- With whose account a streak with others ended, while it ran with a count above 0 (AU-7): the user is shown how many when the account is
-- restored, and then it is null again, as for every other streak. Only adds: the release before this one writes and reads on.
ALTER TABLE streak ADD COLUMN ended_with uuid;

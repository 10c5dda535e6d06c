-- What identified a streak until it ended with its user's account: `streak_identity.key`, given back when the account is restored (AU-7).
-- Null for every other streak. Only adds: the release before this one writes and reads on.
ALTER TABLE streak ADD COLUMN key_until_deletion text;

-- A break by a moderator's decision (SO-9): part of the ledger, nothing undoes it.
ALTER TABLE streak ADD COLUMN broken_off_at timestamptz;
ALTER TABLE streak ADD COLUMN broken_off_by uuid;

-- People whose accounts are gone for good (AU-7). A streak goes when both of its people are.
CREATE TABLE purged_user (
    user_id uuid PRIMARY KEY,
    purged_at timestamptz NOT NULL
);

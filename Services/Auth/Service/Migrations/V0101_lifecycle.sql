-- A deleted account keeps its row for 30 days, for restoration, while its e-mail and username are free for others (AU-7).
DROP INDEX account_username;
CREATE UNIQUE INDEX account_username ON account (username) WHERE deleted_at IS NULL;
CREATE INDEX account_deleted_email ON account (email_key, deleted_at DESC) WHERE deleted_at IS NOT NULL;

-- What the status is made of (Domain/AccountLife.swift): a restored account is as suspended or banned as it was.
ALTER TABLE account ADD COLUMN suspended_until timestamptz;
ALTER TABLE account ADD COLUMN banned_at timestamptz;
-- When the row is removed for good.
ALTER TABLE account ADD COLUMN purge_at timestamptz;
CREATE INDEX account_suspension_ends ON account (suspended_until) WHERE suspended_until IS NOT NULL;
CREATE INDEX account_purge ON account (purge_at) WHERE purge_at IS NOT NULL;

-- The row is removed with everything that hangs on it. A table that refers to it without CASCADE stops the purge, visibly.
ALTER TABLE session DROP CONSTRAINT session_account_id_fkey;
ALTER TABLE session ADD CONSTRAINT session_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id) ON DELETE CASCADE;

-- Moderation decisions that were carried out, so that each is carried out once (SO-9).
CREATE TABLE moderation_taken (
    action_id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    action smallint NOT NULL,
    taken_at timestamptz NOT NULL,
    until timestamptz
);
CREATE INDEX moderation_taken_account ON moderation_taken (account_id);

-- All that remains of an account that was removed.
CREATE TABLE purged_account (
    user_id uuid PRIMARY KEY,
    purged_at timestamptz NOT NULL
);

-- The only events of ours that say names: a removed account's are taken out of the outbox.
CREATE INDEX outbox_profile ON outbox (aggregate) WHERE subject = 'evt.auth.v1.ProfileChanged';

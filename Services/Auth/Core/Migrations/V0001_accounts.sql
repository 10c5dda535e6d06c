CREATE TABLE account (
    id uuid PRIMARY KEY,
    -- As typed; compared by email_key.
    email text NOT NULL,
    email_key text NOT NULL,
    -- When the owner proved to own the address; only then it links and is found by (AU-13).
    email_verified_at timestamptz,
    password_hash text,
    username text NOT NULL,
    -- Not set by the registration (AU-10).
    username_changed_at timestamptz,
    display_name text NOT NULL,
    avatar_key text NOT NULL DEFAULT '',
    -- Of the avatar stored last; an older one never overwrites a newer (D13).
    avatar_version bigint NOT NULL DEFAULT 0,
    time_zone text NOT NULL,
    time_zone_since timestamptz NOT NULL,
    -- Local hour at which the user's snap window opens (PW-2).
    window_start_hour smallint NOT NULL DEFAULT 10 CHECK (window_start_hour BETWEEN 0 AND 23),
    is_admin boolean NOT NULL DEFAULT false,
    -- 1 active, 2 suspended, 3 banned, 4 deleted: AccountStatus of the proto.
    status smallint NOT NULL DEFAULT 1,
    -- What the status is made of (Domain/AccountLife.swift): a restored account is as suspended or banned as it was.
    suspended_until timestamptz,
    banned_at timestamptz,
    deleted_at timestamptz,
    -- When the row is removed for good.
    purge_at timestamptz,
    -- The language of mails, a BCP 47 tag; empty until it was chosen.
    locale text NOT NULL DEFAULT '',
    terms_version text,
    terms_accepted_at timestamptz,
    -- Grows with every change other services see (D13).
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
-- A deleted account keeps its row for 30 days, for restoration, while its e-mail and username are free for others (AU-7).
CREATE UNIQUE INDEX account_email_key ON account (email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX account_username ON account (username) WHERE deleted_at IS NULL;
CREATE INDEX account_deleted_email ON account (email_key, deleted_at DESC) WHERE deleted_at IS NOT NULL;
CREATE INDEX account_suspension_ends ON account (suspended_until) WHERE suspended_until IS NOT NULL;
CREATE INDEX account_purge ON account (purge_at) WHERE purge_at IS NOT NULL;

-- All that remains of an account that was removed.
CREATE TABLE purged_account (
    user_id uuid PRIMARY KEY,
    purged_at timestamptz NOT NULL
);

-- Statistics and balance as streaks and billing emit them (D13).
CREATE TABLE streak_stats (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    active_streaks integer NOT NULL,
    longest_streak integer NOT NULL,
    total_photos integer NOT NULL
);
CREATE TABLE recovery_balance (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    balance integer NOT NULL
);

-- The only events of ours that hold names: a removed account's are deleted from the outbox.
CREATE INDEX outbox_profile ON outbox (aggregate) WHERE subject = 'evt.auth.v1.ProfileChanged';

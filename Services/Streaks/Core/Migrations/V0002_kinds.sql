-- What check-in, typed and team streaks have in their ledgers (SD-5). Only adds: the release before this one writes and reads on.

-- Moderators' decisions before the latest, for kinds that begin a new run after one (SO-9).
ALTER TABLE streak ADD COLUMN earlier_break_offs timestamptz[] NOT NULL DEFAULT '{}';

-- Two covers may be used at one instant, and two grants be made: what asked for them distinguishes them.
-- streak_cover.kind: 1 recovery token, 2 cover, 3 repair, 4 time machine.
ALTER TABLE streak_cover DROP CONSTRAINT streak_cover_pkey, ADD PRIMARY KEY (streak_id, operation_id);
-- Null for those of the sign-up and those used by hand.
ALTER TABLE streak_freeze DROP CONSTRAINT streak_freeze_pkey, ADD COLUMN operation_id uuid;
ALTER TABLE streak_freeze ADD COLUMN entry bigint GENERATED ALWAYS AS IDENTITY, ADD PRIMARY KEY (streak_id, entry);
CREATE INDEX streak_freeze_streak ON streak_freeze (streak_id, at);
CREATE UNIQUE INDEX streak_freeze_operation ON streak_freeze (operation_id) WHERE operation_id IS NOT NULL;

-- What is held against the next break (TS-3), the spent ones too: which date it was spent on follows from the fold.
CREATE TABLE streak_protection (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    -- Protection.Kind: 1 insurance, 2 shield.
    kind smallint NOT NULL,
    held_at timestamptz NOT NULL,
    -- The end of its validity; null: until it is spent.
    held_until timestamptz,
    operation_id uuid NOT NULL UNIQUE,
    PRIMARY KEY (streak_id, operation_id)
);

-- Times as a member of a streak before the present one: of who left and joined again (TS-4).
CREATE TABLE streak_former_stay (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    joined_at timestamptz NOT NULL,
    left_at timestamptz NOT NULL,
    PRIMARY KEY (streak_id, user_id, joined_at)
);
CREATE INDEX streak_former_stay_user ON streak_former_stay (user_id);

-- Which plan a user was on, as it was known from `since` on: part of the ledgers of kinds whose rules ask for it.
CREATE TABLE plan_change (
    user_id uuid NOT NULL,
    since timestamptz NOT NULL,
    is_premium boolean NOT NULL,
    -- The end of the premium plan; null: none is known.
    expires_at timestamptz,
    -- Of the user's entitlements: older news is ignored.
    version bigint NOT NULL,
    PRIMARY KEY (user_id, version)
);
CREATE INDEX plan_change_since ON plan_change (user_id, since);
-- No user has a streak yet that asks for it.
INSERT INTO plan_change (user_id, since, is_premium, expires_at, version)
    SELECT user_id, 'epoch', is_premium, expires_at, version FROM entitlement_replica;

ALTER TABLE streak_checkpoint
    ADD COLUMN break_date date,
    ADD COLUMN break_at timestamptz,
    ADD COLUMN break_count integer,
    ADD COLUMN spent_protections uuid[] NOT NULL DEFAULT '{}',
    ADD COLUMN last_premium_insurance date,
    ADD COLUMN free_dates_month date,
    ADD COLUMN free_dates_used integer NOT NULL DEFAULT 0;

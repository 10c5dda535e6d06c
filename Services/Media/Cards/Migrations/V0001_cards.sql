-- Milestone cards (MC-1): a row before the picture, one for each streak, milestone, style and run of the streak.
CREATE TABLE milestone_card (
    id uuid PRIMARY KEY,
    streak_id uuid NOT NULL,
    -- The count that is celebrated.
    milestone integer NOT NULL,
    -- 1 orange, 2 purple, 3 green, 4 dark
    style smallint NOT NULL,
    -- The run of the streak that reached the milestone, as the card says it.
    first_day date NOT NULL,
    last_day date NOT NULL,
    -- The two members, the smaller id first.
    first_user uuid NOT NULL,
    second_user uuid NOT NULL,
    blob_key text NOT NULL,
    -- 0 being made, 1 made, 2 to be removed
    state smallint NOT NULL DEFAULT 0,
    -- Until when no other process makes, or removes, it; by the machine's clock.
    lease_until timestamptz NOT NULL,
    -- Of its public page (MC-2); null until it is made, and while a member has withdrawn it.
    token text,
    withdrawn_by uuid[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX milestone_card_subject ON milestone_card (streak_id, milestone, style, last_day) WHERE state <> 2;
CREATE UNIQUE INDEX milestone_card_token ON milestone_card (token);
CREATE INDEX milestone_card_first ON milestone_card (first_user);
CREATE INDEX milestone_card_second ON milestone_card (second_user);
CREATE INDEX milestone_card_unfinished ON milestone_card (lease_until) WHERE state <> 1;

-- Where a user has shared a card, and when last.
CREATE TABLE milestone_share (
    card_id uuid NOT NULL REFERENCES milestone_card (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    platform text NOT NULL,
    shared_at timestamptz NOT NULL,
    PRIMARY KEY (card_id, user_id, platform)
);
CREATE INDEX milestone_share_user ON milestone_share (user_id);

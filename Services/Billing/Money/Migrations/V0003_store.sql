-- What can be bought (BI-4).
CREATE TABLE catalog_item (
    item text PRIMARY KEY,
    -- CatalogKind of the proto: 1 subscription, 2 pack, 3 coins.
    kind smallint NOT NULL CHECK (kind IN (1, 2, 3)),
    place integer NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    coins bigint CHECK (coins > 0),
    -- The product's name in the app stores.
    product text UNIQUE,
    usd_cents integer CHECK (usd_cents > 0),
    -- Of a subscription, ISO 8601.
    period text,
    -- Of a subscription that others are compared with, or is compared: months.
    months integer,
    perks text[] NOT NULL DEFAULT '{}',
    is_popular boolean NOT NULL DEFAULT false,
    -- The item that it is compared with for what it saves.
    compared_with text,
    -- How many a user may buy in so many days; null without a limit.
    limit_count integer CHECK (limit_count > 0),
    limit_days integer CHECK (limit_days > 0),
    valid_from timestamptz NOT NULL DEFAULT '2020-01-01T00:00:00Z',
    valid_until timestamptz,
    CHECK ((kind = 3) = (coins IS NOT NULL)),
    CHECK ((kind = 3) = (product IS NULL)),
    CHECK ((limit_count IS NULL) = (limit_days IS NULL))
);
CREATE INDEX catalog_item_order ON catalog_item (place, item);
CREATE TABLE catalog_good (
    item text NOT NULL REFERENCES catalog_item (item) ON DELETE CASCADE,
    good text NOT NULL,
    count integer NOT NULL CHECK (count > 0),
    PRIMARY KEY (item, good)
);

INSERT INTO catalog_item (item, kind, place, title, description, product, usd_cents, period, months, perks, is_popular, compared_with) VALUES
    ('premium_monthly', 1, 20, 'Premium, monthly', 'Keep every streak alive', 'premium_monthly', 499, 'P1M', 1,
        '{unlimited_streaks,custom_prompts,monthly_recovery_token}', true, NULL),
    ('premium_weekly', 1, 10, 'Premium, weekly', 'Keep every streak alive', 'premium_weekly', 299, 'P1W', NULL,
        '{unlimited_streaks,custom_prompts,monthly_recovery_token}', false, NULL),
    ('premium_annual', 1, 30, 'Premium, annual', 'Keep every streak alive', 'premium_annual', 3999, 'P1Y', 12,
        '{unlimited_streaks,custom_prompts,monthly_recovery_token}', false, 'premium_monthly');
INSERT INTO catalog_item (item, kind, place, title, description, product, usd_cents, is_popular, compared_with) VALUES
    ('token_pack_3', 2, 110, '3 recovery tokens', 'Bring broken streaks back', 'recovery_token_pack_3', 99, false, NULL),
    ('token_pack_10', 2, 120, '10 recovery tokens', 'Bring broken streaks back', 'recovery_token_pack_10', 299, true, 'token_pack_3'),
    ('freeze_1', 2, 130, 'Streak freeze', 'Keeps a missed date of your check-in streak', 'streak_freeze', 99, false, NULL),
    ('freeze_5', 2, 140, '5 streak freezes', 'Keep missed dates of your check-in streak', 'streak_freeze_bundle_5', 399, false, 'freeze_1'),
    ('repair_1', 2, 150, 'Streak repair', 'Repairs a check-in streak within a day', 'streak_repair', 299, false, NULL),
    ('shield_1', 2, 160, 'Streak shield', 'Covers the next break', 'streak_shield', 999, false, NULL),
    ('booster_1', 2, 170, 'XP booster', 'Half as many XP again for 7 days', 'xp_booster', 499, false, NULL);
INSERT INTO catalog_item (item, kind, place, title, description, coins, limit_count, limit_days) VALUES
    ('freeze', 3, 210, 'Streak freeze', 'Keeps a missed date', 100, 5, 7),
    ('insurance', 3, 220, 'Streak insurance', 'Undoes a break within 7 days', 200, 1, 7),
    ('double_day', 3, 230, 'Double day', 'Twice the coins for a day', 300, 1, 1),
    ('restore', 3, 240, 'Streak restore', 'Brings a broken streak back', 500, 1, 30),
    ('time_machine', 3, 250, 'Time machine', 'Fills one missed date of the last 7 days', 1000, 1, 7);
INSERT INTO catalog_good (item, good, count) VALUES
    ('token_pack_3', 'recovery_token', 3), ('token_pack_10', 'recovery_token', 10), ('freeze_1', 'freeze', 1), ('freeze_5', 'freeze', 5),
    ('repair_1', 'repair', 1), ('shield_1', 'shield', 1), ('booster_1', 'xp_booster', 1), ('freeze', 'freeze', 1),
    ('insurance', 'insurance', 1), ('double_day', 'double_day', 1), ('restore', 'restore', 1), ('time_machine', 'time_machine', 1);

-- What users have bought (BI-5), with what it gave then: the catalogue may change.
CREATE TABLE purchase (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    item text NOT NULL,
    title text NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    -- 0 when it was paid for with money.
    coins bigint NOT NULL,
    price_milli bigint NOT NULL DEFAULT 0,
    price_currency text NOT NULL DEFAULT '',
    -- The transaction of the store; null when it was paid for with coins.
    store text,
    transaction_key text,
    -- 1 on its way, 2 granted, 3 to be taken back, 4 taken back, 5 void: the coins are back.
    state smallint NOT NULL DEFAULT 1,
    -- Why it is void.
    refusal_code integer,
    refusal_reason text,
    refusal_message text,
    purchased_at timestamptz NOT NULL,
    UNIQUE (store, transaction_key)
);
CREATE INDEX purchase_user ON purchase (user_id, item, purchased_at);

-- Each step of a purchase, in order (D6): recorded before goods are asked for, and driven to its end by the request or the job.
CREATE TABLE goods_operation (
    -- The operation id that the service that keeps the goods is given.
    id uuid PRIMARY KEY,
    purchase_id uuid NOT NULL REFERENCES purchase (id) ON DELETE CASCADE,
    -- 0, 1, …: a later one waits for those before it.
    place integer NOT NULL,
    -- 1 grant, 2 take back.
    kind smallint NOT NULL,
    is_done boolean NOT NULL DEFAULT false,
    -- Of taking back: what was spent already, `freeze 2`.
    missing text,
    -- Until when a request or the job drives it, by the machine's clock.
    lease_until timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    UNIQUE (purchase_id, place)
);
CREATE INDEX goods_operation_waiting ON goods_operation (lease_until) WHERE NOT is_done;

-- The goods of a purchase.
CREATE TABLE purchased_good (
    purchase_id uuid NOT NULL REFERENCES purchase (id) ON DELETE CASCADE,
    good text NOT NULL,
    count integer NOT NULL CHECK (count > 0),
    PRIMARY KEY (purchase_id, good)
);

-- Events of RevenueCat as they came (BI-1), kept so that they can be applied again.
CREATE TABLE store_event (
    id text PRIMARY KEY,
    kind text NOT NULL,
    happened_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    body bytea NOT NULL,
    -- Whom it names: app user ids and aliases.
    names text[] NOT NULL,
    -- 1 to be applied, 2 applied, 3 waits until one of its names is a user, 4 of no effect.
    state smallint NOT NULL DEFAULT 1,
    -- When it is applied, if it is to be.
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    -- Why it could not be applied, or has no effect.
    note text,
    -- Set when it was applied: whose it is, and what it is about.
    user_id uuid,
    store text,
    transaction_key text
);
CREATE INDEX store_event_due ON store_event (due_at) WHERE state = 1;
CREATE INDEX store_event_history ON store_event (store, transaction_key) WHERE state = 2;
CREATE INDEX store_event_user ON store_event (user_id);
CREATE INDEX store_event_names ON store_event USING gin (names);

-- Names of a user at RevenueCat besides the user's id (`$RCAnonymousID:…`).
CREATE TABLE store_alias (
    name text PRIMARY KEY,
    user_id uuid NOT NULL
);
CREATE INDEX store_alias_user ON store_alias (user_id);

-- What was moved between users by RevenueCat.
CREATE TABLE store_transfer (
    event_id text NOT NULL,
    from_user uuid NOT NULL,
    -- Null: to a user who is not known here.
    to_user uuid,
    happened_at timestamptz NOT NULL,
    PRIMARY KEY (event_id, from_user)
);
CREATE INDEX store_transfer_from ON store_transfer (from_user);
CREATE INDEX store_transfer_to ON store_transfer (to_user);

-- What the events of one original transaction come to; the events are the truth.
CREATE TABLE subscription (
    store text NOT NULL,
    transaction_key text NOT NULL,
    user_id uuid,
    product text NOT NULL,
    period_type smallint NOT NULL,
    purchased_at timestamptz,
    expires_at timestamptz,
    grace_until timestamptz,
    ended_at timestamptz,
    is_unsubscribed boolean NOT NULL,
    has_billing_issue boolean NOT NULL,
    is_renewable boolean NOT NULL,
    is_temporary boolean NOT NULL,
    PRIMARY KEY (store, transaction_key)
);
CREATE INDEX subscription_user ON subscription (user_id);

-- What all subscriptions of a user come to (BI-2). The row is the lock of the user's subscriptions.
CREATE TABLE customer (
    user_id uuid PRIMARY KEY,
    -- Grows with every change of the plan (D13).
    version bigint NOT NULL DEFAULT 0,
    is_premium boolean NOT NULL DEFAULT false,
    -- When premium ends or has ended.
    access_until timestamptz,
    -- When something changes by itself: premium ends, or a month begins with its bonus (RC-1).
    due_at timestamptz,
    -- Premium that counts for the bonus, as of the last time: until when, and by which subscription.
    paid_until timestamptz,
    paid_store text,
    paid_key text,
    -- The first month whose bonus has not been decided, counted from January of the year 0.
    bonus_month integer,
    -- When the store is asked about a renewal that has not been seen.
    ask_at timestamptz,
    ask_attempts integer NOT NULL DEFAULT 0
);
CREATE INDEX customer_due ON customer (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX customer_ask ON customer (ask_at) WHERE ask_at IS NOT NULL;

-- The monthly bonus: once a user, and once an original transaction (RC-1).
CREATE TABLE premium_bonus (
    user_id uuid NOT NULL,
    month integer NOT NULL,
    store text NOT NULL,
    transaction_key text NOT NULL,
    PRIMARY KEY (user_id, month),
    UNIQUE (store, transaction_key, month)
);

-- Customers to be deleted at RevenueCat because their accounts were purged; deleted with the last step.
CREATE TABLE store_deletion (
    user_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0
);
CREATE INDEX store_deletion_due ON store_deletion (due_at);

-- The in-app log (NO-4). Rows stay 90 days. Texts are made when they are read and when they are pushed, in the language of the reader and
-- with the present name of the actor: here is only what they are made from.
CREATE TABLE notification (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- Kind of the proto.
    kind smallint NOT NULL,
    wording smallint NOT NULL,
    count integer NOT NULL,
    others integer NOT NULL,
    amount integer NOT NULL,
    subject text NOT NULL,
    emoji text NOT NULL,
    actor_id uuid,
    streak_id uuid,
    friendship_id uuid,
    created_at timestamptz NOT NULL,
    read_at timestamptz
);
CREATE INDEX notification_log ON notification (user_id, created_at DESC, id DESC);
CREATE INDEX notification_kind ON notification (user_id, kind, created_at DESC, id DESC);
CREATE INDEX notification_unread ON notification (user_id, created_at DESC, id DESC) WHERE read_at IS NULL;
CREATE INDEX notification_age ON notification (created_at);
-- What a user who deletes the account has caused is found by this (AU-7).
CREATE INDEX notification_actor ON notification (actor_id) WHERE actor_id IS NOT NULL;

-- What a user wants pushed (NO-2); no row: all of it, and quiet hours from 22 to 7.
CREATE TABLE push_preferences (
    user_id uuid PRIMARY KEY,
    window_alerts boolean NOT NULL DEFAULT true,
    window_closing boolean NOT NULL DEFAULT true,
    streak_at_risk boolean NOT NULL DEFAULT true,
    streak_broken boolean NOT NULL DEFAULT true,
    friend_posted boolean NOT NULL DEFAULT true,
    milestone boolean NOT NULL DEFAULT true,
    friend_requests boolean NOT NULL DEFAULT true,
    nudges boolean NOT NULL DEFAULT true,
    quiet_hours boolean NOT NULL DEFAULT true,
    -- Local hours.
    quiet_start smallint NOT NULL DEFAULT 22 CHECK (quiet_start BETWEEN 0 AND 23),
    quiet_end smallint NOT NULL DEFAULT 7 CHECK (quiet_end BETWEEN 0 AND 23)
);

-- Where pushes go (NO-3). A token has one owner; when it moves to another user the row gets another id, so that what is queued for the
-- owner before does not reach the new one.
CREATE TABLE device (
    id uuid PRIMARY KEY,
    token text NOT NULL UNIQUE,
    user_id uuid NOT NULL,
    -- The sign-in it belongs to: the device ends with it.
    session_id uuid,
    -- Platform of the proto.
    platform smallint NOT NULL,
    app_version text NOT NULL,
    locale text NOT NULL,
    registered_at timestamptz NOT NULL,
    -- How often in a row the provider said that it gets too many, and until when it gets none therefore.
    slowed smallint NOT NULL DEFAULT 0,
    paused_until timestamptz
);
CREATE INDEX device_user ON device (user_id, registered_at DESC);
CREATE INDEX device_session ON device (session_id) WHERE session_id IS NOT NULL;

-- A push of one entry to one device (NO-3): queued, sent, received, failed or expired. Rows stay 10 days.
CREATE TABLE delivery (
    id uuid PRIMARY KEY,
    notification_id uuid NOT NULL,
    device_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- 0 queued, 1 sent, 2 received, 3 failed, 4 expired
    state smallint NOT NULL DEFAULT 0,
    -- By the product clock: queued: when to hand it over; sent: when to ask for its receipt. Null: nothing is due.
    due_at timestamptz,
    -- By the machine's clock: until then the replica that claimed it works on it.
    claimed_until timestamptz,
    -- From then on it is of no use (NO-6).
    useless_at timestamptz NOT NULL,
    -- Hand-overs without an answer; noted before the hand-over.
    unanswered smallint NOT NULL DEFAULT 0,
    attempts smallint NOT NULL DEFAULT 0,
    -- The provider's name for it.
    ticket text,
    sent_at timestamptz,
    -- Why it failed or expired.
    reason text,
    created_at timestamptz NOT NULL
);
CREATE INDEX delivery_due ON delivery (due_at) WHERE state = 0;
CREATE INDEX delivery_receipt ON delivery (due_at) WHERE state = 1 AND due_at IS NOT NULL;
CREATE INDEX delivery_notification ON delivery (notification_id);
CREATE INDEX delivery_user ON delivery (user_id);
CREATE INDEX delivery_age ON delivery (created_at);

-- The pushes that count of a user's date (NO-5). Rows stay a few days.
CREATE TABLE push_day (
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    open_taken smallint NOT NULL DEFAULT 0,
    -- Bits of `KeptPlace`.
    kept integer NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, on_date)
);
CREATE INDEX push_day_age ON push_day (on_date);

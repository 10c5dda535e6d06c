-- The in-app log (NO-4). Rows stay 90 days.
CREATE TABLE notification (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- Kind of the proto.
    kind smallint NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    actor_id uuid,
    streak_id uuid,
    friendship_id uuid,
    created_at timestamptz NOT NULL,
    read_at timestamptz
);
CREATE INDEX notification_log ON notification (user_id, created_at DESC, id DESC);
CREATE INDEX notification_unread ON notification (user_id) WHERE read_at IS NULL;
CREATE INDEX notification_age ON notification (created_at);

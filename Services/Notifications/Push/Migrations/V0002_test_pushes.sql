-- When users had a test push sent, within the last hour.
CREATE TABLE test_push (
    user_id uuid PRIMARY KEY,
    -- The oldest first.
    sent_at timestamptz[] NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX test_push_expiry ON test_push (expires_at);

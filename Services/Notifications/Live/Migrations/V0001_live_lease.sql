-- One row for each open stream, whichever gateway has it (NO-7).
CREATE TABLE live_lease (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- By the machine's clock. The gateway renews it while the stream is open.
    expires_at timestamptz NOT NULL
);
CREATE INDEX live_lease_user ON live_lease (user_id);

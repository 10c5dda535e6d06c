-- What users have bought and not used yet (BI-5). The row is the lock of a user's stock of a good.
CREATE TABLE goods_stock (
    user_id uuid NOT NULL,
    good text NOT NULL,
    count integer NOT NULL CHECK (count >= 0),
    PRIMARY KEY (user_id, good)
);

-- What an operation granted, and what of it was taken back: for ever, so that no repeat grants again, however late.
CREATE TABLE goods_grant (
    operation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    good text NOT NULL,
    granted integer NOT NULL CHECK (granted > 0),
    taken integer NOT NULL DEFAULT 0 CHECK (taken BETWEEN 0 AND granted),
    -- The operation that took it back.
    taken_by uuid,
    PRIMARY KEY (operation_id, good)
);
CREATE INDEX goods_grant_user ON goods_grant (user_id);

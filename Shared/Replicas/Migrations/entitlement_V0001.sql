-- Who has paid for what, fed by billing's EntitlementsChanged (D13).
CREATE TABLE entitlement_replica (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    is_premium boolean NOT NULL,
    expires_at timestamptz
);

-- Purchases that clients confirm by the store's transaction (BI-5): each by one operation.
ALTER TABLE purchase ADD COLUMN confirmed_by uuid;
CREATE INDEX purchase_transaction ON purchase (transaction_key) WHERE transaction_key IS NOT NULL;

-- What is sold to premium users only.
ALTER TABLE catalog_item ADD COLUMN needs_premium boolean NOT NULL DEFAULT false;
INSERT INTO catalog_item (item, kind, place, title, description, product, usd_cents, needs_premium) VALUES
    ('freeze_1_premium', 2, 131, 'Streak freeze', 'Keeps a missed date of your check-in streak', 'streak_freeze_premium', 79, true);
INSERT INTO catalog_good (item, good, count) VALUES ('freeze_1_premium', 'freeze', 1);

-- What a protective event is for (D21): the user on whose behalf it was emitted, or the event whose handler emitted it. NULL for all other
-- events, and once every feature that protects has applied it.
ALTER TABLE outbox ADD COLUMN protects uuid;
CREATE INDEX outbox_protecting ON outbox (protects) WHERE protects IS NOT NULL;

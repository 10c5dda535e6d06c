-- What is replayed leaves in the order of its positions, and what is forgotten has the oldest: one index serves both, and grows at its end.
CREATE INDEX outbox_published ON outbox (position) WHERE published_at IS NOT NULL;
DROP INDEX outbox_created;

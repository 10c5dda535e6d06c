-- The advisory lock that shows that the holder of a lease lives (D21): free, the lease may be taken over before its time is up. NULL: only
-- the time counts.
ALTER TABLE outbox_lease ADD COLUMN presence bigint;
ALTER TABLE consumer_lease ADD COLUMN presence bigint;

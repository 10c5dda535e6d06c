-- How far a service has heard a stream: everything up to and including this message. The time is the broker's, and tells whether the
-- stream still is the one in which the message had this number. 0 without a time: nothing yet.
ALTER TABLE hearing_lease ADD COLUMN position bigint NOT NULL DEFAULT 0;
ALTER TABLE hearing_lease ADD COLUMN position_at timestamptz;

-- One operation per author, bytes, date and set of streaks (PH-3), recorded before its renditions are made, so that a repeat finds it
-- from its first moment on and nothing is left behind when its maker dies.
-- States: 0 its renditions are being made, 1 under way, 2 done, 3 void: refused by every streak, or its maker died.
ALTER TABLE snap_operation
    -- The author's date that the snap claims; null before this migration.
    ADD COLUMN claimed_date date,
    -- SHA-256 of the photo's, the date and the streaks.
    ADD COLUMN content_hash bytea;
CREATE UNIQUE INDEX snap_operation_content ON snap_operation (user_id, content_hash) WHERE state <> 3;

DROP INDEX snap_operation_due;
CREATE INDEX snap_operation_due ON snap_operation (next_attempt_at) WHERE state IN (0, 1);
CREATE INDEX snap_operation_age ON snap_operation (received_at);

-- A void operation stands for no key any more: the same request may be tried again.
UPDATE snap_operation SET key_hash = NULL WHERE state = 3;

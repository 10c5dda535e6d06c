-- Snaps that their author has deleted: the date stays counted, and the row says that it was posted for.
ALTER TABLE snap ADD COLUMN deleted_at timestamptz;
-- When picture and caption are deleted, by the machine's clock; null for snaps that are shown, are deleted already, or are kept for a report.
ALTER TABLE snap ADD COLUMN erase_at timestamptz;
-- Moderators keep what was reported.
ALTER TABLE snap ADD COLUMN is_reported boolean NOT NULL DEFAULT false;
-- Picture and caption are deleted.
ALTER TABLE snap ADD COLUMN is_erased boolean NOT NULL DEFAULT false;
CREATE INDEX snap_erasure ON snap (erase_at) WHERE erase_at IS NOT NULL;

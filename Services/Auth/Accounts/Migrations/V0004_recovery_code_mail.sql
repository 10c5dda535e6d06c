-- Mails that say how many recovery codes are left.
ALTER TABLE pending_mail ADD COLUMN recovery_codes_left integer;

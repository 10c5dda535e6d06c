-- Exports of personal data that are too large for a reply (AU-10): made by a job as a file, which is deleted after 7 days.
CREATE TABLE data_export (
    user_id uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    -- 0 asked for, 1 ready, 2 to be deleted
    state smallint NOT NULL DEFAULT 0,
    -- Of the replica that makes it.
    attempt uuid,
    -- Until when no other replica makes or deletes it, by the machine's clock.
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    -- Of the file; set in state 1.
    blob_key text,
    -- When the file is deleted; set in state 1.
    delete_at timestamptz
);
CREATE INDEX data_export_waiting ON data_export (lease_until) WHERE state <> 1;
CREATE INDEX data_export_ready ON data_export (delete_at) WHERE state = 1;

-- Entries that no user has filed (PL-5): without a reporter.
ALTER TABLE report ALTER COLUMN reporter DROP NOT NULL;
-- ReportSource of the proto.
ALTER TABLE report ADD COLUMN source smallint NOT NULL DEFAULT 1;
-- What a machine saw, and how sure it was of each, in percent.
ALTER TABLE report ADD COLUMN labels text[] NOT NULL DEFAULT '{}';
ALTER TABLE report ADD COLUMN confidences double precision[] NOT NULL DEFAULT '{}';
ALTER TABLE report ADD CHECK (cardinality(labels) = cardinality(confidences));
ALTER TABLE report ADD CHECK ((source = 1) = (reporter IS NOT NULL));
-- A machine refuses pictures without a moderator.
ALTER TABLE report DROP CONSTRAINT report_check1;
ALTER TABLE report ADD CHECK (
    action_id IS NULL OR (action IS NOT NULL AND taken_at IS NOT NULL AND (moderator IS NOT NULL OR source <> 1))
);
-- One pending entry of each kind.
CREATE UNIQUE INDEX report_machine ON report (subject_id, source) WHERE status = 1 AND reporter IS NULL;

-- Posts that were hidden or removed at any time, and what became of them (SO-8, SO-9).
CREATE TABLE post_standing (
    post_id uuid PRIMARY KEY,
    owner uuid NOT NULL,
    -- Grows with every change; media goes by the newest.
    version bigint NOT NULL,
    -- 1 shown again, 2 hidden, 3 removed
    visibility smallint NOT NULL,
    -- Since when it is hidden or removed; null while it is shown.
    hidden_at timestamptz
);
CREATE INDEX post_standing_owner ON post_standing (owner, hidden_at);

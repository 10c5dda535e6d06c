-- Reports of users, photos and posts (SO-8). The columns from `action_id` on are the audit log of what was done (SO-9).
CREATE TABLE report (
    id uuid PRIMARY KEY,
    reporter uuid NOT NULL,
    -- ReportSubject of the proto.
    subject_type smallint NOT NULL,
    subject_id uuid NOT NULL,
    -- The owner of the subject.
    owner uuid NOT NULL,
    -- ReportReason of the proto.
    reason smallint NOT NULL,
    description text,
    -- How many users had reported the subject then, this one included.
    reporters integer NOT NULL,
    -- 1 pending, 2 actioned, 3 dismissed
    status smallint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    action_id uuid UNIQUE,
    -- ModerationAction of the proto.
    action smallint,
    moderator uuid,
    taken_at timestamptz,
    until timestamptz,
    note text,
    UNIQUE (subject_type, subject_id, reporter),
    CHECK ((status = 1) = (action_id IS NULL)),
    CHECK (action_id IS NULL OR (action IS NOT NULL AND moderator IS NOT NULL AND taken_at IS NOT NULL))
);
CREATE INDEX report_list ON report (status, created_at DESC, id DESC);
CREATE INDEX report_reporter ON report (reporter);
CREATE INDEX report_owner ON report (owner);

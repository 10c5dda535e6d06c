-- The audit log: what administrators did, and whose details they read. What they do in other services comes by events.
CREATE TABLE admin_action (
    id uuid PRIMARY KEY,
    -- Bare ids: the entry stays when either account is removed.
    admin_id uuid NOT NULL,
    -- AdminActionKind of the proto.
    kind smallint NOT NULL,
    -- About whom; null when it is about no user.
    subject_id uuid,
    -- The reason that was given, or what was done exactly.
    detail text NOT NULL DEFAULT '',
    taken_at timestamptz NOT NULL,
    -- Of the request, as in the logs.
    request_id text NOT NULL
);
CREATE INDEX admin_action_time ON admin_action (taken_at, id);
CREATE INDEX admin_action_admin ON admin_action (admin_id, taken_at, id);
CREATE INDEX admin_action_subject ON admin_action (subject_id, taken_at, id) WHERE subject_id IS NOT NULL;

-- Append only. The words about a person who was removed go; that something was done stays.
CREATE FUNCTION keep_admin_action() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.detail = '' AND (NEW.id, NEW.admin_id, NEW.kind, NEW.taken_at, NEW.request_id)
            = (OLD.id, OLD.admin_id, OLD.kind, OLD.taken_at, OLD.request_id)
            AND NEW.subject_id IS NOT DISTINCT FROM OLD.subject_id THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log of administrators cannot be changed';
END $$;
CREATE TRIGGER admin_action_kept BEFORE UPDATE OR DELETE ON admin_action
    FOR EACH ROW EXECUTE FUNCTION keep_admin_action();
CREATE TRIGGER admin_action_not_emptied BEFORE TRUNCATE ON admin_action
    FOR EACH STATEMENT EXECUTE FUNCTION keep_admin_action();

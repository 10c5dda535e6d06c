-- Mails to users. Address and values are deleted when a mail ends, which is after 7 days at most; the bare row stays for 7 days more.
CREATE TABLE mail (
    -- The operation that asked for it; its Message-ID.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- MailKind of the proto.
    kind smallint NOT NULL,
    locale text NOT NULL,
    -- 0 queued, 1 sent, 2 failed, 3 expired
    state smallint NOT NULL DEFAULT 0,
    -- These two only while it is queued.
    address text,
    -- MailValues of the proto.
    content bytea,
    created_at timestamptz NOT NULL,
    -- When it is tried next; only while it is queued.
    due_at timestamptz,
    useless_after timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    -- Tries after which the server may have the mail: it has not answered, or the replica died.
    unanswered integer NOT NULL DEFAULT 0,
    -- The last number that the server answered, or libcurl's words.
    problem text,
    -- Of the replica that sends it.
    attempt uuid,
    -- Until when no other replica does, by the machine's clock.
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    ended_at timestamptz,
    CHECK ((state = 0) = (due_at IS NOT NULL AND address IS NOT NULL AND content IS NOT NULL AND ended_at IS NULL)),
    CHECK (state = 0 OR address IS NULL AND content IS NULL)
);
CREATE INDEX mail_due ON mail (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mail_useless ON mail (useless_after) WHERE due_at IS NOT NULL;
CREATE INDEX mail_age ON mail (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX mail_of_user ON mail (user_id);

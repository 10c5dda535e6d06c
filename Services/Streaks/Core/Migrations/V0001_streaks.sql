-- Streaks of every kind, with the state their ledger folded to when it was last settled. The ledger is the truth; these columns serve
-- lists and due work (D15).
CREATE TABLE streak (
    id uuid PRIMARY KEY,
    -- StreakKind: 1 mutual, 2 check-in.
    kind smallint NOT NULL,
    -- Whose it is now, in the order of their ids: a copy of `streak_member`, kept by a trigger, for settlement.
    members uuid[] NOT NULL DEFAULT '{}',
    -- The newest date that each of them has contributed for, at the same places: shows who has posted today without reading the ledger.
    newest_dates date[] NOT NULL DEFAULT '{}',
    started_at timestamptz NOT NULL,
    -- StreakStatus of the proto: 1 active, 2 broken, 3 ended.
    status smallint NOT NULL DEFAULT 1,
    current_count integer NOT NULL DEFAULT 0,
    longest_count integer NOT NULL DEFAULT 0,
    last_completed_date date,
    -- The earliest date that can still be completed, and when it is over for all members.
    open_date date,
    deadline_at timestamptz,
    at_risk_from timestamptz,
    -- When the earliest open date must be settled; null while nothing can break (SD-8).
    next_due timestamptz,
    broken_by uuid,
    broken_at timestamptz,
    missed_date date,
    ended_at timestamptz,
    contribution_count integer NOT NULL DEFAULT 0,
    -- A break by a moderator's decision (SO-9): part of the ledger, nothing undoes it.
    broken_off_at timestamptz,
    broken_off_by uuid,
    -- Effects up to this instant have been emitted (SD-5).
    settled_at timestamptz NOT NULL,
    CHECK (cardinality(newest_dates) = cardinality(members))
);
CREATE INDEX streak_due ON streak (kind, next_due) WHERE next_due IS NOT NULL;

-- Whose a streak is: the truth. Beside the streak and not in indexes on it: a row that is changed a few times a day, by every streak at
-- midnight, gets an entry in each of its indexes each time, and these cost more than the row.
CREATE TABLE streak_member (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    joined_at timestamptz NOT NULL,
    left_at timestamptz,
    PRIMARY KEY (streak_id, user_id)
);
CREATE INDEX streak_member_user ON streak_member (user_id) WHERE left_at IS NULL;
-- For export and erasure, which want them all.
CREATE INDEX streak_member_former ON streak_member (user_id) WHERE left_at IS NOT NULL;

-- What there can be one streak of at a time until it ends: the pair of a mutual streak (MS-1), the user of a check-in.
CREATE TABLE streak_identity (
    kind smallint NOT NULL,
    key text NOT NULL,
    streak_id uuid NOT NULL UNIQUE REFERENCES streak (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, key)
);

-- The day ledger: who contributed for which of their dates. The primary key is what makes two devices at once count once (PH-1).
CREATE TABLE contribution (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    on_date date NOT NULL,
    received_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    operation_id uuid NOT NULL,
    PRIMARY KEY (streak_id, on_date, user_id)
);

-- The copy of whose a streak is in its row.
CREATE FUNCTION copy_members(changed uuid[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    UPDATE streak SET (members, newest_dates) = (
        SELECT coalesce(array_agg(user_id ORDER BY user_id), '{}'), coalesce(array_agg(newest ORDER BY user_id), '{}')
        FROM (SELECT user_id, (SELECT max(on_date) FROM contribution c WHERE c.streak_id = m.streak_id AND c.user_id = m.user_id) AS newest
              FROM streak_member m WHERE m.streak_id = streak.id AND m.left_at IS NULL) AS member)
    WHERE id = ANY(changed)
$$;
CREATE FUNCTION members_came() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN PERFORM copy_members(ARRAY(SELECT DISTINCT streak_id FROM changed)); RETURN NULL; END $$;
CREATE FUNCTION member_left() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN PERFORM copy_members(ARRAY[NEW.streak_id]); RETURN NULL; END $$;
CREATE TRIGGER members_came AFTER INSERT ON streak_member REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION members_came();
CREATE TRIGGER members_went AFTER DELETE ON streak_member REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION members_came();
CREATE TRIGGER member_left AFTER UPDATE OF left_at ON streak_member FOR EACH ROW
    WHEN (OLD.left_at IS DISTINCT FROM NEW.left_at) EXECUTE FUNCTION member_left();

-- What keeps a streak over missed dates: recovery tokens (RC-2, RC-3), insurance, shields (CI-3, TS-3).
CREATE TABLE streak_cover (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    used_at timestamptz NOT NULL,
    -- 1 recovery token, 2 cover.
    kind smallint NOT NULL,
    -- Null for automatic covers.
    user_id uuid,
    from_date date NOT NULL,
    through_date date NOT NULL,
    -- When it turned out not to be needed; from then on it covers nothing.
    returned_at timestamptz,
    operation_id uuid NOT NULL UNIQUE,
    PRIMARY KEY (streak_id, used_at)
);

-- Freezes that came into hand, and those used by hand for a date (CI-2). Those spent on missed dates follow from the fold.
CREATE TABLE streak_freeze (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    -- So many came into hand; null for one used by hand.
    granted integer,
    -- Used by hand for this date; null for a grant.
    on_date date,
    PRIMARY KEY (streak_id, at),
    CHECK ((granted IS NULL) <> (on_date IS NULL))
);

-- Dates on which nothing is expected (CI-4).
CREATE TABLE streak_pause (
    streak_id uuid NOT NULL REFERENCES streak (id) ON DELETE CASCADE,
    paused_at timestamptz NOT NULL,
    from_date date NOT NULL,
    -- The first date that counts again.
    until_date date NOT NULL,
    PRIMARY KEY (streak_id, paused_at)
);

-- The fold of a streak's ledger up to a date that nothing ordinary can re-open: what lies before it is not loaded to change the streak.
-- The ledger stays whole; a checkpoint may be deleted at any time.
CREATE TABLE streak_checkpoint (
    streak_id uuid PRIMARY KEY REFERENCES streak (id) ON DELETE CASCADE,
    settled_through date NOT NULL,
    current_count integer NOT NULL,
    longest_count integer NOT NULL,
    last_completed_date date,
    run_start date,
    -- The break that stands, for kinds that begin anew.
    broken_on date,
    broken_at timestamptz,
    broken_by uuid,
    freezes integer NOT NULL,
    grants_through timestamptz,
    last_grace date,
    -- Times in which the streak counted as broken until its break was undone: from and until, side by side.
    closed_from timestamptz[] NOT NULL,
    closed_until timestamptz[] NOT NULL
);

-- Times in which no user could reach the service, as an operator declared them (SD-7): part of every streak's ledger.
CREATE TABLE outage (
    id uuid PRIMARY KEY,
    from_at timestamptz NOT NULL,
    until_at timestamptz NOT NULL,
    -- From this instant on every ledger has it; null until a replica has declared it.
    declared_at timestamptz,
    -- The last streak that was settled for it, in the order of ids, and how many were.
    reached_id uuid,
    settled_streaks integer NOT NULL DEFAULT 0,
    finished_at timestamptz,
    UNIQUE (from_at, until_at),
    CHECK (from_at < until_at)
);

-- Which zone a user's clock followed since when (SD-3); the first row of a user holds for all time before it.
CREATE TABLE zone_change (
    user_id uuid NOT NULL,
    since timestamptz NOT NULL,
    zone text NOT NULL,
    PRIMARY KEY (user_id, since)
);

-- Users whose accounts were purged (AU-7). A streak is deleted when all of its members are.
CREATE TABLE purged_user (
    user_id uuid PRIMARY KEY,
    purged_at timestamptz NOT NULL
);

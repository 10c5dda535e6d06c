-- Whose a streak is. Beside the streak and not in indexes on it: a row that is changed a few times a day, by everybody at midnight, gets
-- an entry in each of its indexes each time, and these cost more than the row. This changes when a streak starts, ends and goes.
CREATE TABLE streak_member (
    user_id uuid NOT NULL,
    is_ended boolean NOT NULL,
    streak_id uuid NOT NULL,
    PRIMARY KEY (user_id, is_ended, streak_id)
);
INSERT INTO streak_member (user_id, is_ended, streak_id)
SELECT person, status = 3, id FROM streak, LATERAL (VALUES (user_a), (user_b)) AS people (person);

CREATE FUNCTION follow_streak() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM streak_member
        WHERE user_id IN (OLD.user_a, OLD.user_b) AND is_ended = (OLD.status = 3) AND streak_id = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO streak_member (user_id, is_ended, streak_id)
        VALUES (NEW.user_a, NEW.status = 3, NEW.id), (NEW.user_b, NEW.status = 3, NEW.id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER streak_comes_or_goes AFTER INSERT OR DELETE ON streak FOR EACH ROW EXECUTE FUNCTION follow_streak();
CREATE TRIGGER streak_ends AFTER UPDATE OF status ON streak FOR EACH ROW
    WHEN ((OLD.status = 3) <> (NEW.status = 3)) EXECUTE FUNCTION follow_streak();

-- Running streaks are found by either of the two: `streak_pair` begins with the one, this is the other. A break leaves both.
CREATE INDEX streak_running_b ON streak (user_b) WHERE status = 1;
DROP INDEX streak_user_a;
DROP INDEX streak_user_b;
DROP INDEX streak_friendship;
-- Only outages looked at broken streaks by their instant; they read them in the order of ids now, from the start.
DROP INDEX streak_broken_at;
UPDATE outage SET reached_at = NULL, reached_id = NULL WHERE phase = 1 AND finished_at IS NULL;

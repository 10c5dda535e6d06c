-- Votes of an account that is deleted, suspended or banned count no more, and count again when it is back (PL-3).
ALTER TABLE place_vote ADD COLUMN is_withheld boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION count_place_vote() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    post uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.post_id ELSE NEW.post_id END;
    more_up bigint := 0;
    more_down bigint := 0;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        more_up := -(OLD.vote = 1 AND NOT OLD.is_withheld)::integer;
        more_down := -(OLD.vote = -1 AND NOT OLD.is_withheld)::integer;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        more_up := more_up + (NEW.vote = 1 AND NOT NEW.is_withheld)::integer;
        more_down := more_down + (NEW.vote = -1 AND NOT NEW.is_withheld)::integer;
    END IF;
    IF more_up = 0 AND more_down = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO place_vote_tally AS known (post_id, connection, up, down) VALUES (post, pg_backend_pid(), more_up, more_down)
    ON CONFLICT (post_id, connection) DO UPDATE SET up = known.up + EXCLUDED.up, down = known.down + EXCLUDED.down;
    RETURN NULL;
END $$;
DROP TRIGGER place_vote_counted ON place_vote;
CREATE TRIGGER place_vote_counted AFTER INSERT OR DELETE OR UPDATE OF vote, is_withheld ON place_vote
    FOR EACH ROW EXECUTE FUNCTION count_place_vote();

-- A token outlives its account by some seconds, so a vote may come after the account is withheld. The lock orders the two: a voter shares it.
CREATE FUNCTION place_vote_of_withheld() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(current_schema() || ' votes of ' || NEW.user_id, 0));
    NEW.is_withheld := EXISTS (SELECT FROM photo_owner o WHERE o.user_id = NEW.user_id AND o.is_withheld);
    RETURN NEW;
END $$;
CREATE TRIGGER place_vote_withheld BEFORE INSERT ON place_vote FOR EACH ROW EXECUTE FUNCTION place_vote_of_withheld();

CREATE FUNCTION withhold_place_votes() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ' votes of ' || NEW.user_id, 0));
    UPDATE place_vote SET is_withheld = NEW.is_withheld WHERE user_id = NEW.user_id AND is_withheld <> NEW.is_withheld;
    RETURN NULL;
END $$;
CREATE TRIGGER place_voter_withheld AFTER INSERT OR UPDATE OF is_withheld ON photo_owner
    FOR EACH ROW EXECUTE FUNCTION withhold_place_votes();

UPDATE place_vote v SET is_withheld = true FROM photo_owner o WHERE o.user_id = v.user_id AND o.is_withheld;

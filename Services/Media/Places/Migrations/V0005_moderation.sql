-- What votes have changed since their posts were counted: one row for each post and connection to the database, in place of one for each vote. A
-- connection runs one transaction at a time, so a voter still waits for no other voter; and a post has as many rows as there are connections,
-- not as many as it had votes. (Of rows that were deleted after counting the index kept entries until the next vacuum, and each vote on the
-- post read them all: a hot post became slower with every vote.)
CREATE TABLE place_vote_tally (
    post_id uuid NOT NULL,
    -- The process of the connection, `pg_backend_pid`.
    connection integer NOT NULL,
    up bigint NOT NULL,
    down bigint NOT NULL,
    PRIMARY KEY (post_id, connection)
) WITH (fillfactor = 25);
INSERT INTO place_vote_tally (post_id, connection, up, down)
    SELECT post_id, 0, sum(up), sum(down) FROM place_vote_change GROUP BY post_id;
DROP TABLE place_vote_change;

CREATE OR REPLACE FUNCTION count_place_vote() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    post uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.post_id ELSE NEW.post_id END;
    more_up bigint := 0;
    more_down bigint := 0;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        more_up := -(OLD.vote = 1)::integer;
        more_down := -(OLD.vote = -1)::integer;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        more_up := more_up + (NEW.vote = 1)::integer;
        more_down := more_down + (NEW.vote = -1)::integer;
    END IF;
    INSERT INTO place_vote_tally AS known (post_id, connection, up, down) VALUES (post, pg_backend_pid(), more_up, more_down)
    ON CONFLICT (post_id, connection) DO UPDATE SET up = known.up + EXCLUDED.up, down = known.down + EXCLUDED.down;
    RETURN NULL;
END $$;

-- Who has reported a post, from social: a reader sees it on the post (SO-8).
CREATE TABLE place_report (
    post_id uuid NOT NULL REFERENCES place_post (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    PRIMARY KEY (post_id, user_id)
);
CREATE INDEX place_report_reporter ON place_report (user_id);

-- Of what social last decided about the post; an older decision never overwrites a newer.
ALTER TABLE place_post ADD COLUMN standing_version bigint NOT NULL DEFAULT 0;

-- Photos pinned to places (PL-1). The row is there before its blobs and after them, so that none is left behind by a process that dies.
CREATE TABLE place_post (
    -- Often made by the client, so that a repeat posts once. In its keys: posts/<user>/<id>/display.jpg and thumbnail.jpg.
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    -- 0 its renditions are being stored, 1 shown, 2 given up, 3 removed by its author; 2 and 3 are to be deleted.
    state smallint NOT NULL DEFAULT 0,
    -- Shown to its author only.
    is_hidden boolean NOT NULL DEFAULT false,
    -- Of the upload, in hex: a repeat has the same.
    sha256 text NOT NULL,
    caption text,
    -- As exactly as the author lets others know it; the exact position is not kept.
    latitude double precision NOT NULL CHECK (latitude BETWEEN -90 AND 90),
    longitude double precision NOT NULL CHECK (longitude >= -180 AND longitude < 180),
    -- 'exact', '100m' or '1km'
    position_precision text NOT NULL,
    -- The position as one number on a Z-order curve: `PlaceKey`.
    place_key bigint NOT NULL,
    captured_at timestamptz NOT NULL,
    posted_at timestamptz NOT NULL,
    width integer NOT NULL DEFAULT 0,
    height integer NOT NULL DEFAULT 0,
    -- Votes but those in place_vote_change.
    up bigint NOT NULL DEFAULT 0,
    down bigint NOT NULL DEFAULT 0,
    -- Of these votes, by `PostScore`; since when, by the database's clock. Until then place_past_score has it.
    score double precision NOT NULL,
    scored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the job deletes it, by the machine's clock; null while it is shown.
    due_at timestamptz
);
-- Small areas are ranges of keys.
CREATE INDEX place_post_key ON place_post (place_key) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_author ON place_post (user_id, posted_at, id);
CREATE INDEX place_post_due ON place_post (due_at) WHERE due_at IS NOT NULL;
-- Crowded areas are some cells, each read from its best post on, or its newest. A cell has the points whose keys begin with the same 26, 20,
-- 14 or 8 bits: 5 × 2.5, 39 × 20, 310 × 160, 2,500 × 1,300 km at the equator.
CREATE INDEX place_post_score ON place_post (score) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_score_8 ON place_post ((place_key >> 56), score) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_score_14 ON place_post ((place_key >> 50), score) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_score_20 ON place_post ((place_key >> 44), score) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_score_26 ON place_post ((place_key >> 38), score) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_newest ON place_post (posted_at) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_newest_14 ON place_post ((place_key >> 50), posted_at) WHERE state = 1 AND NOT is_hidden;
CREATE INDEX place_post_newest_26 ON place_post ((place_key >> 38), posted_at) WHERE state = 1 AND NOT is_hidden;

-- Scores that posts had, for an hour: lists that were begun before a change go on as they were ranked then.
CREATE TABLE place_past_score (
    post_id uuid NOT NULL REFERENCES place_post (id) ON DELETE CASCADE,
    until timestamptz NOT NULL,
    score double precision NOT NULL,
    place_key bigint NOT NULL,
    PRIMARY KEY (post_id, until)
);
CREATE INDEX place_past_score_until ON place_past_score (until);

-- Posts that their authors removed, for 30 days: a repeat of the upload does not bring them back.
CREATE TABLE place_removed_post (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    removed_at timestamptz NOT NULL
);
CREATE INDEX place_removed_post_owner ON place_removed_post (user_id);
CREATE INDEX place_removed_post_age ON place_removed_post (removed_at);

-- Votes (PL-3). No foreign key to the post: its check would lock the post's row for every voter.
CREATE TABLE place_vote (
    post_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- 1 up, -1 down
    vote smallint NOT NULL CHECK (vote IN (1, -1)),
    voted_at timestamptz NOT NULL,
    PRIMARY KEY (post_id, user_id)
);
CREATE INDEX place_vote_voter ON place_vote (user_id, post_id);

-- What votes have changed since their posts were counted. A vote adds a row and locks no other, so voters on one post do not wait for each
-- other; a job adds these rows to their posts. The votes of a post are its own and those here: exact in every statement.
CREATE TABLE place_vote_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    post_id uuid NOT NULL,
    up smallint NOT NULL,
    down smallint NOT NULL
);
CREATE INDEX place_vote_change_post ON place_vote_change (post_id);

-- By triggers, so that every way a vote comes and goes is counted: an account that is purged, too.
CREATE FUNCTION count_place_vote() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO place_vote_change (post_id, up, down)
        VALUES (OLD.post_id, -(OLD.vote = 1)::integer, -(OLD.vote = -1)::integer);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO place_vote_change (post_id, up, down) VALUES (NEW.post_id, (NEW.vote = 1)::integer, (NEW.vote = -1)::integer);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER place_vote_counted AFTER INSERT OR DELETE OR UPDATE OF vote ON place_vote
    FOR EACH ROW EXECUTE FUNCTION count_place_vote();

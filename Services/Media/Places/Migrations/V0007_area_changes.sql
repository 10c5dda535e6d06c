-- How often posts came into view for guests, or went out of it, in each area: what is known of the posts of an area stays true while the sum of its rows
-- is the same. One row for each area and connection to the database: a connection runs one transaction at a time, so none waits for another.
CREATE TABLE place_area_change (
    -- The leading 20 bits of the keys in it, 64 columns and 32 rows of cells: 39 × 20 km at the equator. 1,024 rows from the south pole, 1,024
    -- columns from the antimeridian.
    y integer NOT NULL,
    x integer NOT NULL,
    -- The process of the connection, `pg_backend_pid`; 0 for those that have ended.
    connection integer NOT NULL,
    changes bigint NOT NULL,
    PRIMARY KEY (y, x, connection)
) WITH (fillfactor = 50);
CREATE INDEX place_area_change_connection ON place_area_change (connection) WHERE connection <> 0;

-- Notes that an area's posts have changed, by the keys of these.
CREATE FUNCTION note_place_change(keys bigint[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    INSERT INTO place_area_change AS known (y, x, connection, changes)
    SELECT DISTINCT place_even_bits(bits >> 1) >> 5, place_even_bits(bits) >> 6, pg_backend_pid(), 1
    FROM unnest(keys) AS post (key), LATERAL (SELECT ((key >> 33) & 2147483647) # 1073741824) AS cell (bits)
    ON CONFLICT (y, x, connection) DO UPDATE SET changes = known.changes + 1
$$;

-- As before, and noted.
CREATE OR REPLACE FUNCTION count_place_post() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    was boolean := TG_OP <> 'INSERT' AND OLD.state = 1 AND NOT OLD.is_hidden;
    is_now boolean := TG_OP <> 'DELETE' AND NEW.state = 1 AND NOT NEW.is_hidden;
    post place_post := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF was = is_now THEN RETURN NULL; END IF;
    PERFORM note_place_change(ARRAY[post.place_key]);
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(current_schema() || ' author ' || post.user_id, 0));
    IF NOT EXISTS (SELECT FROM photo_owner WHERE user_id = post.user_id AND is_withheld) THEN
        INSERT INTO place_tile_change (latitude, longitude, change)
        VALUES (post.latitude, post.longitude, CASE WHEN is_now THEN 1 ELSE -1 END);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_place_author() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    was boolean := TG_OP <> 'INSERT' AND OLD.is_withheld;
    is_now boolean := TG_OP <> 'DELETE' AND NEW.is_withheld;
    author uuid := CASE WHEN TG_OP = 'DELETE' THEN OLD.user_id ELSE NEW.user_id END;
BEGIN
    IF was = is_now THEN RETURN NULL; END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ' author ' || author, 0));
    PERFORM note_place_change(ARRAY(SELECT place_key FROM place_post WHERE user_id = author AND state = 1 AND NOT is_hidden));
    INSERT INTO place_tile_change (latitude, longitude, change)
    SELECT latitude, longitude, CASE WHEN is_now THEN -1 ELSE 1 END FROM place_post
    WHERE user_id = author AND state = 1 AND NOT is_hidden;
    RETURN NULL;
END $$;

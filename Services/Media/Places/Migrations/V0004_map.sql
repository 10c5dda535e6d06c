-- Names of places, found without any outside service (PL-2): by the position that others see.
ALTER TABLE place_post
    -- ISO 3166-1; null at sea, and in the few areas without a code.
    ADD COLUMN country_code text,
    ADD COLUMN country text,
    ADD COLUMN city text,
    -- Whether the names were looked up: posts of before are named by a job.
    ADD COLUMN is_named boolean NOT NULL DEFAULT false;
CREATE INDEX place_post_unnamed ON place_post (id) WHERE NOT is_named;

-- A word as it is compared: without marks, composed or not. It is case-folded before.
CREATE FUNCTION place_fold(word text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(normalize(word, NFKD), '[\u0300-\u036F]', '', 'g')
$$;

-- The words of captions and place names. Not in place_post: each change of a score would write the index anew.
CREATE TABLE place_post_text (
    post_id uuid PRIMARY KEY REFERENCES place_post (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX place_post_text_words ON place_post_text USING gin (words);
CREATE INDEX place_post_text_author ON place_post_text (user_id);

-- World views (PL-4): how many posts each tile of a stored level has, with the sum of their positions (`TileSum`).
CREATE TABLE place_tile (
    level smallint NOT NULL,
    y integer NOT NULL,
    x integer NOT NULL,
    posts bigint NOT NULL,
    sum_x bigint NOT NULL,
    sum_y bigint NOT NULL,
    sum_z bigint NOT NULL,
    PRIMARY KEY (level, y, x)
);

-- Posts that came into view or went out of it and are not in place_tile yet. Each adds a row and locks none, so posts of one tile do not wait
-- for each other; a job adds these rows to their tiles.
CREATE TABLE place_tile_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL,
    -- 1 came, -1 went
    change smallint NOT NULL
);

-- What is in view for guests, in these two functions: shown, not hidden, and its author not withheld. A lock of the author's orders the two.
CREATE FUNCTION count_place_post() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    was boolean := TG_OP <> 'INSERT' AND OLD.state = 1 AND NOT OLD.is_hidden;
    is_now boolean := TG_OP <> 'DELETE' AND NEW.state = 1 AND NOT NEW.is_hidden;
    post place_post := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF was = is_now THEN RETURN NULL; END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(current_schema() || ' author ' || post.user_id, 0));
    IF NOT EXISTS (SELECT FROM photo_owner WHERE user_id = post.user_id AND is_withheld) THEN
        INSERT INTO place_tile_change (latitude, longitude, change)
        VALUES (post.latitude, post.longitude, CASE WHEN is_now THEN 1 ELSE -1 END);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER place_post_counted AFTER INSERT OR DELETE OR UPDATE OF state, is_hidden ON place_post
    FOR EACH ROW EXECUTE FUNCTION count_place_post();

CREATE FUNCTION count_place_author() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    was boolean := TG_OP <> 'INSERT' AND OLD.is_withheld;
    is_now boolean := TG_OP <> 'DELETE' AND NEW.is_withheld;
    author uuid := CASE WHEN TG_OP = 'DELETE' THEN OLD.user_id ELSE NEW.user_id END;
BEGIN
    IF was = is_now THEN RETURN NULL; END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ' author ' || author, 0));
    INSERT INTO place_tile_change (latitude, longitude, change)
    SELECT latitude, longitude, CASE WHEN is_now THEN -1 ELSE 1 END FROM place_post
    WHERE user_id = author AND state = 1 AND NOT is_hidden;
    RETURN NULL;
END $$;
CREATE TRIGGER place_author_counted AFTER INSERT OR DELETE OR UPDATE OF is_withheld ON photo_owner
    FOR EACH ROW EXECUTE FUNCTION count_place_author();

-- Patches: cells of about 600 m whose posts may be in one cluster, because others less than 2 km away connect them. No chain of neighbours
-- has posts of two patches, so how large a patch is bounds how far the circle of a chain can reach. A patch only grows: when posts go, it
-- is larger than it need be, which costs time and changes no answer.
CREATE TABLE place_patch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cells bigint NOT NULL,
    -- The rectangle of its cells. Columns may go on beyond 65,535, over the antimeridian.
    south integer NOT NULL,
    north integer NOT NULL,
    west integer NOT NULL,
    columns integer NOT NULL,
    -- Circles of its posts reach less than 2^reach km beyond the rectangle.
    reach smallint NOT NULL,
    -- One index finds the patches of a reach in an area.
    area box GENERATED ALWAYS AS (
        box(point(west, south + 100000 * reach::integer), point(west + columns - 1, north + 100000 * reach::integer))
    ) STORED
);
CREATE INDEX place_patch_area ON place_patch USING gist (area);

-- Cells that have or had a post.
CREATE TABLE place_cell (
    -- The leading 31 bits of the keys in it.
    cell bigint PRIMARY KEY,
    -- 32,768 rows from the south pole, 65,536 columns from the antimeridian.
    y integer NOT NULL,
    x integer NOT NULL,
    patch bigint NOT NULL REFERENCES place_patch (id),
    UNIQUE (y, x)
);
CREATE INDEX place_cell_patch ON place_cell (patch);

-- The bits at the even places of a number of 32 bits.
CREATE FUNCTION place_even_bits(bits bigint) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ((d | (d >> 8)) & 65535)::integer FROM (SELECT bits & 1431655765) AS one (a),
        LATERAL (SELECT (a | (a >> 1)) & 858993459) AS two (b), LATERAL (SELECT (b | (b >> 2)) & 252645135) AS four (c),
        LATERAL (SELECT (c | (c >> 4)) & 16711935) AS eight (d)
$$;

-- How far circles of posts in a rectangle of cells may reach beyond it, as place_patch has it.
CREATE FUNCTION place_reach(south integer, north integer, columns integer) RETURNS smallint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    low double precision := south * 180::double precision / 32768 - 90;
    high double precision := (north + 1) * 180::double precision / 32768 - 90;
    widest double precision := CASE WHEN low <= 0 AND high >= 0 THEN 1 ELSE cos(radians(least(abs(low), abs(high)))) END;
    height double precision := radians(high - low);
    width double precision := radians(columns * 360::double precision / 65536) * widest;
    -- By the haversine formula no two points of the rectangle are farther apart. A circle is 200 m wider.
    km double precision := 6371 * 2 * asin(least(1, sqrt(height * height + width * width) / 2)) * 1.000001 + 0.4;
BEGIN
    RETURN ceil(ln(km) / ln(2));
END $$;

-- Puts the cell of a key into a patch, and joins the patches that it connects. Nearly always it is in one; new cells wait for each other.
CREATE FUNCTION place_occupy(key bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    number bigint := key >> 33;
    bits bigint := ((key >> 33) & 2147483647) # 1073741824;
    row_at integer := place_even_bits(bits >> 1);
    column_at integer := place_even_bits(bits);
    -- The latitude nearest to a pole of the four rows on either side: neighbours are at most 2 km away.
    pole double precision := greatest(90 - (row_at - 4) * 180::double precision / 32768, (row_at + 5) * 180::double precision / 32768 - 90);
    -- Of two points that far apart, the sine of the difference in longitude.
    ratio double precision := CASE WHEN pole >= 90 THEN 1 ELSE sin(2.001 / 6371) / cos(radians(pole)) END;
    side integer := CASE WHEN ratio >= 1 THEN 32768 ELSE least(32768, ceil(degrees(asin(ratio)) * 65536 / 360)::integer + 1) END;
    near bigint[];
    whole place_patch;
    part place_patch;
    one integer;
    other integer;
BEGIN
    IF EXISTS (SELECT FROM place_cell WHERE cell = number) THEN RETURN; END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || ' place_patch', 0));
    IF EXISTS (SELECT FROM place_cell WHERE cell = number) THEN RETURN; END IF;
    near := ARRAY(
        SELECT DISTINCT c.patch FROM generate_series(row_at - 4, row_at + 4) AS r (y), unnest(ARRAY[-65536, 0, 65536]) AS turn (x)
        CROSS JOIN LATERAL (SELECT patch FROM place_cell
            WHERE y = r.y AND x BETWEEN column_at - side + turn.x AND column_at + side + turn.x) AS c
    );
    whole.south := row_at;
    whole.north := row_at;
    whole.west := column_at;
    whole.columns := 1;
    whole.cells := 1;
    FOR part IN SELECT * FROM place_patch WHERE id = ANY (near) ORDER BY cells DESC, id LOOP
        whole.id := coalesce(whole.id, part.id);
        whole.cells := whole.cells + part.cells;
        whole.south := least(whole.south, part.south);
        whole.north := greatest(whole.north, part.north);
        -- From the west of one to the east of whichever ends later, the shorter way round.
        one := greatest(whole.columns, (part.west - whole.west + 65536) % 65536 + part.columns);
        other := greatest(part.columns, (whole.west - part.west + 65536) % 65536 + whole.columns);
        IF other < one THEN whole.west := part.west; END IF;
        whole.columns := least(one, other);
        -- Beyond half of the earth the mean of longitudes may lie anywhere.
        IF whole.columns > 32768 THEN
            whole.west := 0;
            whole.columns := 65536;
        END IF;
    END LOOP;
    whole.reach := place_reach(whole.south, whole.north, whole.columns);
    IF whole.id IS NULL THEN
        INSERT INTO place_patch (cells, south, north, west, columns, reach)
        VALUES (1, whole.south, whole.north, whole.west, whole.columns, whole.reach) RETURNING id INTO whole.id;
    ELSE
        UPDATE place_patch SET cells = whole.cells, south = whole.south, north = whole.north, west = whole.west,
            columns = whole.columns, reach = whole.reach WHERE id = whole.id;
        IF cardinality(near) > 1 THEN
            UPDATE place_cell SET patch = whole.id WHERE patch = ANY (near) AND patch <> whole.id;
            DELETE FROM place_patch WHERE id = ANY (near) AND id <> whole.id;
        END IF;
    END IF;
    INSERT INTO place_cell (cell, y, x, patch) VALUES (number, row_at, column_at, whole.id);
END $$;

CREATE FUNCTION occupy_place_cell() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM place_occupy(NEW.place_key);
    RETURN NULL;
END $$;
CREATE TRIGGER place_post_occupies AFTER INSERT OR UPDATE OF state ON place_post
    FOR EACH ROW WHEN (NEW.state = 1) EXECUTE FUNCTION occupy_place_cell();

-- Posts of before.
SELECT place_occupy(place_key) FROM place_post WHERE state = 1;
INSERT INTO place_tile_change (latitude, longitude, change)
SELECT latitude, longitude, 1 FROM place_post p WHERE state = 1 AND NOT is_hidden
    AND NOT EXISTS (SELECT FROM photo_owner o WHERE o.user_id = p.user_id AND o.is_withheld);

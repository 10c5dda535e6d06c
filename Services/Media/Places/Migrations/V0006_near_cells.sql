-- As before, but the nearby cells are looked up row by row in the index of rows and columns (`OFFSET 0`). While the statistics were those of an
-- empty table, the planner joined the rows to all cells, and a post in a new cell took longer the more cells there were.
-- Puts the cell of a key into a patch, and joins the patches that it connects. Nearly always it is in one; new cells wait for each other.
CREATE OR REPLACE FUNCTION place_occupy(key bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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
            WHERE y = r.y AND x BETWEEN column_at - side + turn.x AND column_at + side + turn.x OFFSET 0) AS c
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

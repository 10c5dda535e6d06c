-- Names are compared without accents (SO-5): "zoe" finds "Zoë". Only what has some is indexed anew. No name changes meanwhile, so that none is
-- left under both forms.
LOCK TABLE search_person IN SHARE ROW EXCLUSIVE MODE;

-- A name as it is compared: in lower case, without marks, composed or not.
CREATE FUNCTION search_key(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(normalize(lower(name), NFKD), '[\u0300-\u036F]', '', 'g')
$$;

DELETE FROM search_term t USING search_person p CROSS JOIN LATERAL search_terms(p.username, p.display_name, p.email) AS gone
    WHERE search_key(p.display_name) <> lower(p.display_name)
        AND t.kind = gone.kind AND t.term = gone.term AND t.user_id = p.user_id;

CREATE OR REPLACE FUNCTION search_terms(username text, display_name text, email text) RETURNS TABLE (kind smallint, term text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT (CASE WHEN starts_word THEN 1 ELSE 2 END)::smallint, rest
    FROM (VALUES (search_key(username)), (search_key(display_name))) AS names (name)
    CROSS JOIN LATERAL generate_series(1, length(name)) AS start
    CROSS JOIN LATERAL (SELECT substr(name, start) AS rest,
        start = 1 OR position(substr(name, start - 1, 1) IN ' _.-') > 0 AS starts_word) AS cut
    -- Fewer than three letters are searched at beginnings only.
    WHERE starts_word OR length(rest) >= 3
    UNION
    SELECT 3::smallint, lower(email) WHERE email <> ''
$$;

INSERT INTO search_term (kind, term, user_id)
    SELECT t.kind, t.term, p.user_id
    FROM search_person p CROSS JOIN LATERAL search_terms(p.username, p.display_name, p.email) AS t
    WHERE search_key(p.display_name) <> lower(p.display_name);

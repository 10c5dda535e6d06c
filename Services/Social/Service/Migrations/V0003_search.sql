-- Everybody who can be found (SO-5), as the index holds them; fed by auth's ProfileChanged.
CREATE TABLE search_person (
    user_id uuid PRIMARY KEY,
    username text NOT NULL,
    display_name text NOT NULL,
    -- Lower case; empty unless verified (AU-13).
    email text NOT NULL
);
CREATE INDEX search_person_username ON search_person (username COLLATE "C");

-- What people are found by. Names are held with all their ends, so that "contains" is "begins with" in a B-tree: a search reads as many
-- entries as it answers, however many people match. A trigram index would first collect them all.
CREATE TABLE search_term (
    -- 1 a name or a word of it, 2 the rest of a name from inside a word on, 3 e-mail
    kind smallint NOT NULL,
    term text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (kind, term, user_id)
);

CREATE FUNCTION search_terms(username text, display_name text, email text) RETURNS TABLE (kind smallint, term text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (CASE WHEN starts_word THEN 1 ELSE 2 END)::smallint, rest
    FROM (VALUES (lower(username)), (lower(display_name))) AS names (name)
    CROSS JOIN LATERAL generate_series(1, length(name)) AS start
    CROSS JOIN LATERAL (SELECT substr(name, start) AS rest,
        start = 1 OR position(substr(name, start - 1, 1) IN ' _.-') > 0 AS starts_word) AS cut
    -- Fewer than three letters are looked for at beginnings only.
    WHERE starts_word OR length(rest) >= 3
    UNION
    SELECT 3::smallint, lower(email) WHERE email <> ''
$$;

-- Those who were known before this index.
INSERT INTO search_person (user_id, username, display_name, email)
SELECT user_id, username, display_name, '' FROM profile_replica WHERE status = 1;
INSERT INTO search_term (kind, term, user_id)
SELECT t.kind, t.term, p.user_id FROM search_person p CROSS JOIN LATERAL search_terms(p.username, p.display_name, p.email) AS t;

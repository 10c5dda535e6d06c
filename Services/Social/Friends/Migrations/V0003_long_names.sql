-- A name of 50 characters may have hundreds of code points (emoji of a family have seven each), and each of its endings is an entry: names are
-- found by their first 120. Only what has more is indexed anew. No name changes meanwhile, so that none is left under both forms.
LOCK TABLE search_person IN SHARE ROW EXCLUSIVE MODE;

-- No letter becomes more than 18 in the form that names are compared in, so shorter ones need no look.
DELETE FROM search_term t USING search_person p CROSS JOIN LATERAL search_terms(p.username, p.display_name, p.email) AS gone
    WHERE length(p.display_name) > 6 AND length(search_key(p.display_name)) > 120
        AND t.kind = gone.kind AND t.term = gone.term AND t.user_id = p.user_id;

CREATE OR REPLACE FUNCTION search_key(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(regexp_replace(normalize(lower(left(name, 400)), NFKD), '[\u0300-\u036F]', '', 'g'), 120)
$$;

INSERT INTO search_term (kind, term, user_id)
    SELECT t.kind, t.term, p.user_id
    FROM search_person p CROSS JOIN LATERAL search_terms(p.username, p.display_name, p.email) AS t
    WHERE length(p.display_name) > 6 AND length(search_key(p.display_name)) = 120
    ON CONFLICT DO NOTHING;

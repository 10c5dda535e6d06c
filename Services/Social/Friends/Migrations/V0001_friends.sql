-- When each new friend request was sent: a withdrawn one counts too (SO-1). Rows stay an hour.
CREATE TABLE sent_request (
    friendship_id uuid PRIMARY KEY,
    sender uuid NOT NULL,
    sent_at timestamptz NOT NULL
);
CREATE INDEX sent_request_sender ON sent_request (sender, sent_at);
CREATE INDEX sent_request_age ON sent_request (sent_at);

-- When a user last nudged a friend (SO-6).
CREATE TABLE nudge (
    from_user uuid NOT NULL,
    to_user uuid NOT NULL,
    nudged_at timestamptz,
    PRIMARY KEY (from_user, to_user)
);

-- Every user who can be found (SO-5), as the index holds them; updated with the profile replica.
CREATE TABLE search_person (
    user_id uuid PRIMARY KEY,
    username text NOT NULL,
    display_name text NOT NULL,
    -- Lower case; empty unless verified (AU-13).
    email text NOT NULL
);
CREATE INDEX search_person_username ON search_person (username COLLATE "C");

-- What users are found by. Names are held with all their endings, so that "contains" is "begins with" in a B-tree: a search reads as many
-- entries as it answers, however many users match. A trigram index would first collect them all.
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
    -- Fewer than three letters are searched at beginnings only.
    WHERE starts_word OR length(rest) >= 3
    UNION
    SELECT 3::smallint, lower(email) WHERE email <> ''
$$;

-- The newest version of a user's friend list (SO-3): another one with every change of what the list shows of friendships and profiles. A
-- list that was read once is shown again while its version stands. A user without friends so far has no row.
-- Triggers on the tables of the core, so that no writer can leave it out: no other feature, no older replica, no operator with psql.
CREATE SEQUENCE friend_list_version;
CREATE TABLE friend_list (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL
);

-- In the order of ids, so that two of these do not wait for each other.
CREATE FUNCTION renew_friend_lists(people uuid[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    INSERT INTO friend_list AS known (user_id, version)
    SELECT person, nextval('friend_list_version') FROM (SELECT DISTINCT unnest(people) AS person ORDER BY 1) AS sorted
    ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version
$$;

-- A friendship that begins and a name that changes at the same time: neither transaction sees the other, so a list that is read between
-- their commits would keep the old name. The change of a friendship holds the two profiles as they are: a change of a name comes before it
-- and is in the list, or after it and finds the friendship.
CREATE FUNCTION hold_profiles(people uuid[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    SELECT 1 FROM profile_replica WHERE user_id = ANY(people) ORDER BY user_id FOR SHARE
$$;

CREATE FUNCTION friendship_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    people uuid[];
BEGIN
    SELECT array_agg(user_low) || array_agg(user_high) INTO people FROM changed WHERE state = 2;
    IF people IS NOT NULL THEN
        PERFORM hold_profiles(people);
        PERFORM renew_friend_lists(people);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION friendship_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    people uuid[];
BEGIN
    -- Both sides of the change: a friendship that ended was in the list before it.
    SELECT array_agg(user_low) || array_agg(user_high) INTO people
    FROM (SELECT user_low, user_high FROM old_rows WHERE state = 2
          UNION ALL SELECT user_low, user_high FROM new_rows WHERE state = 2) AS changed;
    IF people IS NOT NULL THEN
        PERFORM hold_profiles(people);
        PERFORM renew_friend_lists(people);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER friendship_inserted AFTER INSERT ON friendship
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION friendship_changed();
CREATE TRIGGER friendship_updated AFTER UPDATE ON friendship
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION friendship_updated();
CREATE TRIGGER friendship_deleted AFTER DELETE ON friendship
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION friendship_changed();

-- A profile shows in the lists of all friends. What the list does not show renews nothing.
CREATE FUNCTION renew_lists_of_friends(people uuid[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    SELECT renew_friend_lists(array_agg(friend)) FROM (
        SELECT f.user_high AS friend FROM unnest(people) AS p (id) JOIN friendship f ON f.user_low = p.id AND f.state = 2
        UNION ALL
        SELECT f.user_low FROM unnest(people) AS p (id) JOIN friendship f ON f.user_high = p.id AND f.state = 2) AS friends
    HAVING count(*) > 0
$$;
CREATE FUNCTION profile_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM renew_lists_of_friends(array_agg(user_id)) FROM changed HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION profile_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM renew_lists_of_friends(array_agg(o.user_id)) FROM old_rows o LEFT JOIN new_rows n USING (user_id)
    WHERE (o.username, o.display_name, o.avatar_key, o.status) IS DISTINCT FROM (n.username, n.display_name, n.avatar_key, n.status)
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER profile_inserted AFTER INSERT ON profile_replica
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION profile_changed();
CREATE TRIGGER profile_updated AFTER UPDATE ON profile_replica
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION profile_updated();
CREATE TRIGGER profile_deleted AFTER DELETE ON profile_replica
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION profile_changed();

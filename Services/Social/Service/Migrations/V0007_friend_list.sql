-- Which state of a person's friend list is the newest (SO-3): a new version with every change of what the list shows of friendships and
-- profiles. A list that was read once is shown again while its version stands. Who has no row never had a friend.
-- Triggers, so that no writer can forget it: also not an older replica beside this one, nor somebody with psql.
CREATE SEQUENCE friend_list_version;
CREATE TABLE friend_list (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL
);
INSERT INTO friend_list (user_id, version)
SELECT person, nextval('friend_list_version') FROM (
    SELECT user_low AS person FROM friendship WHERE state = 2 UNION SELECT user_high FROM friendship WHERE state = 2) AS friends;

-- In the order of ids, so that two of these do not wait for each other.
CREATE FUNCTION renew_friend_lists(people uuid[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    INSERT INTO friend_list AS known (user_id, version)
    SELECT person, nextval('friend_list_version') FROM (SELECT DISTINCT unnest(people) AS person ORDER BY 1) AS sorted
    ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version
$$;

CREATE FUNCTION friendship_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM renew_friend_lists(array_agg(user_low) || array_agg(user_high)) FROM changed WHERE state = 2 HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION friendship_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- Both sides of the change: a friendship that ended was in the list before it.
    PERFORM renew_friend_lists(array_agg(user_low) || array_agg(user_high))
    FROM (SELECT user_low, user_high FROM old_rows WHERE state = 2
          UNION ALL SELECT user_low, user_high FROM new_rows WHERE state = 2) AS changed HAVING count(*) > 0;
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

-- A friendship that begins and a name that changes at the same moment: neither transaction saw the other, so the list that was read between their
-- commits kept the old name. Who changes a friendship now holds the profiles of the two as they are: the change of a name comes before it and
-- is in the list, or after it and finds the friendship.
CREATE FUNCTION hold_profiles(people uuid[]) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
    SELECT 1 FROM profile_replica WHERE user_id = ANY(people) ORDER BY user_id FOR SHARE
$$;

CREATE OR REPLACE FUNCTION friendship_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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
CREATE OR REPLACE FUNCTION friendship_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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

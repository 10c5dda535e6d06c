-- Cities that a user has searched for (PL-7): at most ten.
CREATE TABLE place_city (
    user_id uuid NOT NULL,
    -- The name as it is compared: case-folded and composed.
    name_key text NOT NULL,
    name text NOT NULL,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL,
    -- The highest is the newest.
    place bigint NOT NULL,
    PRIMARY KEY (user_id, name_key)
);

-- The one that a user's map opens at.
CREATE TABLE place_favorite_city (
    user_id uuid PRIMARY KEY,
    name_key text NOT NULL,
    name text NOT NULL,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL
);

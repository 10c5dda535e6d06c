-- Profile summaries of all users, fed by auth's ProfileChanged (D13).
CREATE TABLE profile_replica (
    user_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    username text NOT NULL,
    display_name text NOT NULL,
    avatar_key text NOT NULL,
    time_zone text NOT NULL,
    time_zone_since timestamptz NOT NULL,
    status smallint NOT NULL
);
CREATE INDEX profile_replica_username ON profile_replica (username);

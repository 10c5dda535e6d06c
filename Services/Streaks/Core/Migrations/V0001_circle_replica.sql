-- Circles, as `social` reported them last (D13). A deleted one stays, without members, so that older news cannot bring it back.
CREATE TABLE circle_replica (
    circle_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    name text NOT NULL,
    deleted boolean NOT NULL
);

CREATE TABLE circle_member_replica (
    circle_id uuid NOT NULL REFERENCES circle_replica (circle_id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    -- CircleRole of the proto: 1 owner, 2 admin, 3 member.
    role smallint NOT NULL,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (circle_id, user_id)
);
CREATE INDEX circle_member_replica_user ON circle_member_replica (user_id);

-- One row when the circles of before the first event have been fetched.
CREATE TABLE circle_snapshot (
    loaded_at timestamptz NOT NULL,
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- Circles (SO-10). A deleted one stays without name and members, for its version: replicas must not take older news for newer.
CREATE TABLE circle (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    description text,
    -- Grows with every change of the circle or its members.
    version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    deleted_at timestamptz
);

CREATE TABLE circle_member (
    circle_id uuid NOT NULL REFERENCES circle (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    -- 1 owner, 2 admin, 3 member
    role smallint NOT NULL CHECK (role IN (1, 2, 3)),
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (circle_id, user_id)
);
-- A user's circles in their order.
CREATE INDEX circle_member_user ON circle_member (user_id, joined_at DESC, circle_id DESC);
-- A circle's members in the order of joining.
CREATE INDEX circle_member_order ON circle_member (circle_id, joined_at, user_id);
CREATE UNIQUE INDEX circle_owner ON circle_member (circle_id) WHERE role = 1;

CREATE TABLE circle_invite (
    id uuid PRIMARY KEY,
    circle_id uuid NOT NULL REFERENCES circle (id) ON DELETE CASCADE,
    code text NOT NULL UNIQUE,
    -- Null when the account of who made it is erased.
    created_by uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    max_uses integer NOT NULL,
    uses integer NOT NULL DEFAULT 0 CHECK (uses <= max_uses),
    revoked_at timestamptz
);
CREATE INDEX circle_invite_circle ON circle_invite (circle_id, created_at DESC, id DESC);
CREATE INDEX circle_invite_creator ON circle_invite (created_by) WHERE created_by IS NOT NULL;
-- What is deleted when no one can use it any more.
CREATE INDEX circle_invite_expiry ON circle_invite (expires_at);

-- Who was removed from a circle: invites that were made before lead them nowhere (SO-10).
CREATE TABLE circle_removal (
    circle_id uuid NOT NULL REFERENCES circle (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    removed_at timestamptz NOT NULL,
    PRIMARY KEY (circle_id, user_id)
);
CREATE INDEX circle_removal_user ON circle_removal (user_id);
-- What is deleted when no invite of then is valid any more.
CREATE INDEX circle_removal_age ON circle_removal (removed_at);

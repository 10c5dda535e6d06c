-- What a person who deletes the account has caused is found by this (AU-7).
CREATE INDEX notification_actor ON notification (actor_id) WHERE actor_id IS NOT NULL;

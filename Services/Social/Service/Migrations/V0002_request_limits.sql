-- When who sent a new friend request: a withdrawn one counts too (SO-1). Rows stay an hour.
CREATE TABLE sent_request (
    friendship_id uuid PRIMARY KEY,
    sender uuid NOT NULL,
    sent_at timestamptz NOT NULL
);
CREATE INDEX sent_request_sender ON sent_request (sender, sent_at);
CREATE INDEX sent_request_age ON sent_request (sent_at);
INSERT INTO sent_request SELECT id, requester, created_at FROM friendship WHERE state <> 0 AND created_at > now() - interval '1 hour';

-- Counting what is pending must not read what once was.
CREATE INDEX friendship_outgoing ON friendship (requester) WHERE state = 1;
DROP INDEX friendship_requester;

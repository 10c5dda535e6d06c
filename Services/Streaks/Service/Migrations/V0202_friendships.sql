-- A friendship may have several streaks one after the other (MS-1).
ALTER TABLE streak DROP CONSTRAINT streak_friendship_id_key;
CREATE INDEX streak_friendship ON streak (friendship_id, started_at);

-- Friendships that are over: a start that was on its way when it ended comes too late. A day.
CREATE TABLE ended_friendship (
    friendship_id uuid PRIMARY KEY,
    ended_at timestamptz NOT NULL
);
CREATE INDEX ended_friendship_age ON ended_friendship (ended_at);

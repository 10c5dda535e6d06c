-- When the friendship of a streak ended: what was not open to a member by then stays closed (PH-4).
ALTER TABLE mutual_streak ADD COLUMN friendship_ended_at timestamptz;
UPDATE mutual_streak s SET friendship_ended_at = e.ended_at FROM ended_friendship e WHERE e.friendship_id = s.friendship_id;

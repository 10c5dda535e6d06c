-- Of each user the newest answers are kept (D22): to find those beyond.
CREATE INDEX habit_sync_change_newest ON habit_sync_change (user_id, answered_at);

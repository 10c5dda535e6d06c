-- The newest date each of the two has posted for: tells who has posted today without a look at the ledger.
ALTER TABLE streak ADD COLUMN newest_a date, ADD COLUMN newest_b date;
UPDATE streak SET
    newest_a = (SELECT max(on_date) FROM contribution WHERE streak_id = streak.id AND user_id = streak.user_a),
    newest_b = (SELECT max(on_date) FROM contribution WHERE streak_id = streak.id AND user_id = streak.user_b);

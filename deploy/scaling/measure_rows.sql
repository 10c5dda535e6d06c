-- Bytes of a row with its indexes, as figures.json has them. In an empty database of StreakSnap, as its administrator:
--   psql -X -q -A -t -F ' ' -f deploy/scaling/measure_rows.sql
-- Prints a table and the bytes of a row for each, and takes everything back. Rows are what one active user makes: ids are random, texts as
-- long as usual.
BEGIN;
SET LOCAL session_replication_role = replica;
CREATE TEMP TABLE size_before ON COMMIT DROP AS
    SELECT c.oid, pg_total_relation_size(c.oid) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind = 'r' AND nspname IN ('streaks', 'media', 'notifications', 'social', 'auth', 'billing');
CREATE TEMP TABLE person ON COMMIT DROP AS
    SELECT n, gen_random_uuid() AS user_id, gen_random_uuid() AS other_id, gen_random_uuid() AS streak_id, gen_random_uuid() AS snap_id
    FROM generate_series(1, 20000) AS n;

INSERT INTO streaks.streak (id, kind, members, newest_dates, started_at, current_count, longest_count, last_completed_date, open_date,
        deadline_at, at_risk_from, next_due, settled_at, run_start)
    SELECT streak_id, 1, ARRAY[user_id, other_id], ARRAY[current_date, current_date], now(), 30, 30, current_date, current_date, now(), now(),
        now() + n * interval '1 second', now(), current_date FROM person;
INSERT INTO streaks.streak_member (streak_id, user_id, joined_at)
    SELECT streak_id, member, now() FROM person, unnest(ARRAY[user_id, other_id]) AS member;
INSERT INTO streaks.streak_identity (kind, key, streak_id) SELECT 1, user_id || ' ' || other_id, streak_id FROM person;
INSERT INTO streaks.contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
    SELECT streak_id, user_id, current_date, now(), now(), gen_random_uuid() FROM person;
INSERT INTO streaks.tracking_entry (user_id, on_date, id, mood_score, energy_level, notes, checked_in_at, created_at)
    SELECT user_id, current_date, gen_random_uuid(), 7, 6, repeat('word ', 10), now(), now() FROM person;
INSERT INTO streaks.tracking_update (id, user_id, on_date, told_at, mood_score, energy_level, notes)
    SELECT gen_random_uuid(), user_id, current_date, now(), 7, 6, repeat('word ', 10) FROM person;
INSERT INTO streaks.xp_posting (user_id, key, amount, cause, posted_at)
    SELECT user_id, 'check_in:' || streak_id || ':' || current_date, 10, 'check_in', now() FROM person;
INSERT INTO streaks.habit_completion (user_id, id, streak_id, on_date, amount, done_at, minute, received_at, recorded_at, updated_at, sequence)
    SELECT user_id, gen_random_uuid(), streak_id, current_date, 1000, now(), 600, now(), now(), now(), n FROM person;
INSERT INTO streaks.habit_day (streak_id, on_date, status, value, completions, target, is_open, outcome, due_dates, broke_run)
    SELECT streak_id, current_date, 2, 1000, 1, 1000, false, 1, 1, false FROM person;
INSERT INTO streaks.zone_change (user_id, since, zone) SELECT user_id, now(), 'Europe/Berlin' FROM person;
INSERT INTO streaks.profile_replica (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status)
    SELECT user_id, 1, 'user' || n, 'Some Person', 'avatars/' || user_id || '/' || snap_id, 'Europe/Berlin', now(), 1 FROM person;

INSERT INTO media.snap (id, user_id, caption, captured_at, posted_at, on_time, display_key, thumbnail_key, width, height)
    SELECT snap_id, user_id, repeat('word ', 6), now(), now(), true, 'photos/' || user_id || '/' || snap_id || '/display.jpg',
        'photos/' || user_id || '/' || snap_id || '/thumbnail.jpg', 1536, 2048 FROM person;
INSERT INTO media.streak_snap (streak_id, on_date, user_id, snap_id) SELECT streak_id, current_date, user_id, snap_id FROM person;
INSERT INTO media.snap_operation (id, user_id, key_hash, request_hash, content_hash, claimed_date, streak_ids, caption, captured_at, received_at,
        sha256, display_key, thumbnail_key, width, height, state, reply, next_attempt_at, ended_at)
    SELECT snap_id, user_id, sha256(snap_id::text::bytea), sha256(user_id::text::bytea), sha256(other_id::text::bytea), current_date,
        ARRAY[streak_id], repeat('word ', 6), now(), now(), sha256(streak_id::text::bytea),
        'photos/' || user_id || '/' || snap_id || '/display.jpg', 'photos/' || user_id || '/' || snap_id || '/thumbnail.jpg', 1536, 2048, 2,
        convert_to(repeat('reply ', 40), 'UTF8'), now(), now() FROM person;

INSERT INTO notifications.notification (id, user_id, kind, wording, count, others, amount, subject, emoji, actor_id, streak_id, created_at)
    SELECT gen_random_uuid(), user_id, 3, 1, 30, 0, 0, '', '', other_id, streak_id, now() + n * interval '1 second' FROM person;
INSERT INTO notifications.delivery (id, notification_id, device_id, user_id, state, useless_at, attempts, ticket, sent_at, created_at)
    SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), user_id, 2, now(), 1, gen_random_uuid()::text, now(),
        now() + n * interval '1 second' FROM person;
INSERT INTO notifications.device (id, token, user_id, session_id, platform, app_version, locale, registered_at)
    SELECT gen_random_uuid(), 'ExponentPushToken[' || substr(md5(n::text), 1, 22) || ']', user_id, gen_random_uuid(), 1, '1.0.0', 'en', now()
    FROM person;

INSERT INTO streaks.outbox (id, aggregate, subject, trace, request_id, body, created_at, published_at)
    SELECT gen_random_uuid(), 'streak:' || streak_id, 'evt.streaks.v1.SnapCounted', '00-' || md5(n::text) || '-0123456789abcdef-01',
        gen_random_uuid()::text, convert_to(repeat('0123456789', 12), 'UTF8'), now(), now() FROM person;
INSERT INTO notifications.inbox (event_id, feature) SELECT gen_random_uuid(), 'Core' FROM person;

SELECT n.nspname || '.' || c.relname, ((pg_total_relation_size(c.oid) - b.bytes) / CASE c.relname WHEN 'streak_member' THEN 40000 ELSE 20000 END)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN size_before b ON b.oid = c.oid
    WHERE pg_total_relation_size(c.oid) - b.bytes > 100000 ORDER BY 1;
ROLLBACK;

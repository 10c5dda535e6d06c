-- Many people for load tests; run by `deploy/dev seed`, never against an installation that matters. It writes what registering would
-- have come to in the tables of auth and social, without the events: other services ask auth for users they do not know.
--   psql -v users=1000000 -v password_hash='$2b$…' -f seed.sql   (as superuser, on the database streaksnap)
-- The n-th person is the same in every run; those who exist are left alone.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SET work_mem = '256MB';
SET maintenance_work_mem = '512MB';
SET client_min_messages = warning;

BEGIN;
CREATE TEMPORARY TABLE seeded ON COMMIT DROP AS
SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id, 'seed' || n || '@load.example' AS email,
    lower(first) || '.' || lower(last) || n AS username, first || ' ' || last AS display_name,
    (ARRAY['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'America/Sao_Paulo'])[1 + n % 5] AS time_zone
FROM generate_series(1, :users) AS n
CROSS JOIN LATERAL (SELECT
    (ARRAY['Anna', 'Maria', 'Sofia', 'Emma', 'Mia', 'Lena', 'Laura', 'Julia', 'Sarah', 'Nina', 'Olga', 'Elena', 'Aisha', 'Fatima',
        'Yuki', 'Hana', 'Mei', 'Priya', 'Ananya', 'Camila', 'Lucia', 'Valentina', 'Chloe', 'Zoe', 'Ingrid', 'Astrid', 'Freya', 'Nora',
        'Ada', 'Grace', 'Ruth', 'Ben', 'Paul', 'Lukas', 'Jonas', 'Felix', 'Max', 'Leon', 'Noah', 'Elias', 'Ivan', 'Dmitri', 'Omar',
        'Ali', 'Kenji', 'Hiro', 'Wei', 'Arjun', 'Rohan', 'Mateo', 'Diego', 'Santiago', 'Hugo', 'Louis', 'Lars', 'Erik', 'Oscar',
        'Alan', 'Edsger', 'Donald', 'Dennis', 'Linus', 'Tim', 'Vint'])[1 + (hashint4(n) & 63)] AS first,
    (ARRAY['Schmidt', 'Mueller', 'Weber', 'Wagner', 'Becker', 'Hoffmann', 'Koch', 'Richter', 'Klein', 'Wolf', 'Neumann', 'Braun',
        'Smith', 'Johnson', 'Brown', 'Jones', 'Miller', 'Davis', 'Wilson', 'Anderson', 'Taylor', 'Moore', 'Jackson', 'Martin', 'Lee',
        'Garcia', 'Martinez', 'Rodriguez', 'Lopez', 'Hernandez', 'Perez', 'Silva', 'Santos', 'Oliveira', 'Souza', 'Rossi', 'Russo',
        'Ferrari', 'Bianchi', 'Ivanova', 'Petrov', 'Sidorov', 'Kowalski', 'Nowak', 'Hansen', 'Johansson', 'Larsen', 'Nielsen',
        'Tanaka', 'Suzuki', 'Sato', 'Kim', 'Park', 'Chen', 'Wang', 'Li', 'Zhang', 'Singh', 'Kumar', 'Patel', 'Khan', 'Hassan',
        'Okafor', 'Mensah'])[1 + ((hashint4(n) >> 8) & 63)] AS last) AS name;

INSERT INTO auth.account
    (id, email, email_key, password_hash, username, display_name, time_zone, time_zone_since, created_at, updated_at)
SELECT id, email, email, :'password_hash', username, display_name, time_zone, now(), now(), now() FROM seeded
ON CONFLICT DO NOTHING;

-- The others get what auth has; users whom social has already stay as they are.
CREATE TEMPORARY TABLE emitted ON COMMIT DROP AS
SELECT a.id, a.version, a.username, a.display_name, a.avatar_key, a.time_zone, a.time_zone_since, a.status
FROM auth.account a JOIN seeded s USING (id)
WHERE NOT EXISTS (SELECT FROM social.profile_replica p WHERE p.user_id = a.id);
INSERT INTO social.profile_replica
    (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status)
SELECT id, version, username, display_name, avatar_key, time_zone, time_zone_since, status FROM emitted;
INSERT INTO social.search_person (user_id, username, display_name, email)
SELECT id, username, display_name, '' FROM emitted WHERE status = 1;
-- Making the index anew from all entries is faster than adding them one by one; until the end searches wait.
ALTER TABLE social.search_term DROP CONSTRAINT search_term_pkey;
INSERT INTO social.search_term (kind, term, user_id)
SELECT t.kind, t.term, p.id FROM emitted p CROSS JOIN LATERAL social.search_terms(p.username, p.display_name, '') AS t
WHERE p.status = 1;
ALTER TABLE social.search_term ADD CONSTRAINT search_term_pkey PRIMARY KEY (kind, term, user_id);
COMMIT;

VACUUM (ANALYZE) auth.account, social.profile_replica, social.search_person, social.search_term;
SELECT count(*) AS people, pg_size_pretty(pg_total_relation_size('social.search_term')) AS search_index FROM social.search_person;

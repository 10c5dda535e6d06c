-- What a subscription gives (BI-2): one of something else that an app sells gives no premium. Older releases write only what does.
ALTER TABLE subscription ADD COLUMN gives_premium boolean NOT NULL DEFAULT true;

-- Ids of users as RevenueCat writes them, to which upper case is not lower case: `store_alias` has them too.
INSERT INTO store_alias (name, user_id)
SELECT DISTINCT n.name, e.user_id FROM store_event e CROSS JOIN unnest(e.names) AS n (name)
WHERE e.id NOT LIKE 'rest:%' AND lower(n.name) = e.user_id::text ON CONFLICT (name) DO NOTHING;

-- What of a purged user is deleted there. Null: the id in lower case, as written by older releases.
ALTER TABLE store_deletion ADD COLUMN names text[];

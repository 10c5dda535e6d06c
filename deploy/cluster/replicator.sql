-- The role that a standby copies as; after roles.sql, with psql as superuser. It may be repeated.
\set ON_ERROR_STOP on
-- A failing statement must not put the password into the server's log.
SET log_min_error_statement = panic;
SELECT 'CREATE ROLE replicator' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'replicator') \gexec
\getenv password POSTGRES_PASSWORD_REPLICATOR
ALTER ROLE replicator LOGIN NOSUPERUSER REPLICATION PASSWORD :'password';

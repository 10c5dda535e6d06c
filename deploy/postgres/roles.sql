-- Made by StreakSnap (Shared/DevEnvironment/PostgresRoles.swift); edit that, not this. Run it with psql as superuser.
\set ON_ERROR_STOP on
-- A failing statement must not put a password into the server's log.
SET log_min_error_statement = panic;
SELECT 'CREATE DATABASE streaksnap' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'streaksnap') \gexec
REVOKE ALL ON DATABASE postgres, template1, streaksnap FROM PUBLIC;
\connect streaksnap
SET log_min_error_statement = panic;
SET client_min_messages = warning;
REVOKE ALL ON SCHEMA public FROM PUBLIC;

SELECT 'CREATE ROLE "auth"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'auth') \gexec
\getenv password POSTGRES_PASSWORD_AUTH
ALTER ROLE "auth" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE streaksnap TO "auth";
CREATE SCHEMA IF NOT EXISTS "auth" AUTHORIZATION "auth";
ALTER ROLE "auth" IN DATABASE streaksnap SET search_path = "auth";

SELECT 'CREATE ROLE "social"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'social') \gexec
\getenv password POSTGRES_PASSWORD_SOCIAL
ALTER ROLE "social" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE streaksnap TO "social";
CREATE SCHEMA IF NOT EXISTS "social" AUTHORIZATION "social";
ALTER ROLE "social" IN DATABASE streaksnap SET search_path = "social";

SELECT 'CREATE ROLE "streaks"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'streaks') \gexec
\getenv password POSTGRES_PASSWORD_STREAKS
ALTER ROLE "streaks" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE streaksnap TO "streaks";
CREATE SCHEMA IF NOT EXISTS "streaks" AUTHORIZATION "streaks";
ALTER ROLE "streaks" IN DATABASE streaksnap SET search_path = "streaks";

SELECT 'CREATE ROLE "media"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'media') \gexec
\getenv password POSTGRES_PASSWORD_MEDIA
ALTER ROLE "media" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE streaksnap TO "media";
CREATE SCHEMA IF NOT EXISTS "media" AUTHORIZATION "media";
ALTER ROLE "media" IN DATABASE streaksnap SET search_path = "media";

SELECT 'CREATE ROLE "notifications"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'notifications') \gexec
\getenv password POSTGRES_PASSWORD_NOTIFICATIONS
ALTER ROLE "notifications" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE streaksnap TO "notifications";
CREATE SCHEMA IF NOT EXISTS "notifications" AUTHORIZATION "notifications";
ALTER ROLE "notifications" IN DATABASE streaksnap SET search_path = "notifications";

SELECT 'CREATE ROLE "billing"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'billing') \gexec
\getenv password POSTGRES_PASSWORD_BILLING
ALTER ROLE "billing" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE streaksnap TO "billing";
CREATE SCHEMA IF NOT EXISTS "billing" AUTHORIZATION "billing";
ALTER ROLE "billing" IN DATABASE streaksnap SET search_path = "billing";

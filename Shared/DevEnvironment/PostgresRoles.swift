/// The database, and for every service a role and a schema of the same name that only this role can see (D7).
///
/// A script for `psql`, connected as superuser, that can be run again at any time. Passwords come from environment variables
/// (`POSTGRES_PASSWORD_AUTH` …), so that the same text serves development and `deploy/postgres/roles.sql`.
public enum PostgresRoles {
    /// The name of the database.
    public static let database = "streaksnap"

    /// The environment variable that holds a role's password.
    public static func passwordVariable(of role: String) -> String { "POSTGRES_PASSWORD_\(role.uppercased())" }

    /// The script.
    public static func script(services: [String] = BusPermissions.services) -> String {
        """
        -- Made by StreakSnap (Shared/DevEnvironment/PostgresRoles.swift); edit that, not this. Run it with psql as superuser.
        \\set ON_ERROR_STOP on
        -- A failing statement must not put a password into the server's log.
        SET log_min_error_statement = panic;
        SELECT 'CREATE DATABASE \(database)' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '\(database)') \\gexec
        REVOKE ALL ON DATABASE postgres, template1, \(database) FROM PUBLIC;
        \\connect \(database)
        SET log_min_error_statement = panic;
        SET client_min_messages = warning;
        REVOKE ALL ON SCHEMA public FROM PUBLIC;

        """ + services.map(role).joined()
    }

    private static func role(_ name: String) -> String {
        """

        SELECT 'CREATE ROLE "\(name)"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(name)') \\gexec
        \\getenv password \(passwordVariable(of: name))
        ALTER ROLE "\(name)" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
        GRANT CONNECT ON DATABASE \(database) TO "\(name)";
        CREATE SCHEMA IF NOT EXISTS "\(name)" AUTHORIZATION "\(name)";
        ALTER ROLE "\(name)" IN DATABASE \(database) SET search_path = "\(name)";

        """
    }
}

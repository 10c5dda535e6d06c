import DevEnvironment
import Foundation
import Processes
import Testing

@Suite struct DevEnvironmentTests {
    @Test func `a role sees its own schema only`() async throws {
        try await withEnvironment { _, endpoints, _ in
            let auth = try #require(endpoints.postgresURL(of: "auth"))
            let social = try #require(endpoints.postgresURL(of: "social"))
            #expect(
                try await sql(auth, "CREATE TABLE users (id int); INSERT INTO users VALUES (7); SELECT id FROM users").output
                    == "7\n"
            )
            #expect(
                try await sql(auth, "SELECT count(*) FROM auth.users").output == "1\n",
                "unqualified names are in the own schema"
            )
            for statement in [
                "SELECT * FROM auth.users", "CREATE TABLE auth.mine (id int)", "CREATE TABLE public.mine (id int)",
                "CREATE SCHEMA mine",
                "SET ROLE auth", "CREATE TEMP TABLE mine (id int)", "ALTER ROLE auth PASSWORD 'x'",
            ] {
                let result = try await sql(social, statement)
                #expect(result.status != 0 && result.output.contains("permission denied"), "\(statement): \(result.output)")
            }
            #expect(
                try await sql(social.replacing("@/streaksnap", with: "@/postgres"), "SELECT 1").output.contains(
                    "permission denied for database"
                )
            )
            #expect(
                try await sql(social.replacing("social:", with: "auth:"), "SELECT 1").output.contains(
                    "password authentication failed"
                )
            )
            let everyone = try await sql(
                endpoints.adminPostgresURL,
                "SELECT count(*) FROM pg_namespace WHERE nspname = ANY('{auth,social,streaks,media,notifications,billing}')"
            )
            #expect(everyone.output == "6\n")
        }
    }

    @Test func `a second start finds everything again`() async throws {
        try await withDataFolder { folder in
            let first = DevEnvironment(configuration(folder), logger: silent)
            let before = try await first.start()
            #expect(try await first.start() == before)
            #expect(
                try await sql(#require(before.postgresURL(of: "media")), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
                    .status == 0
            )
            let nats = try RawNATS(url: before.natsURL, user: "media", password: before.natsPassword(of: "media"))
            let chief = try RawNATS(url: before.natsURL, user: "operator", password: before.natsPassword(of: "operator"))
            _ = try chief.request(
                "$JS.API.STREAM.CREATE.EVT_MEDIA",
                #"{"name":"EVT_MEDIA","subjects":["evt.media.>"],"storage":"file"}"#
            )
            _ = try nats.request("evt.media.v1.X", "kept")
            let pids = await first.processIDs
            await first.stop()
            #expect(try !isAlive(#require(pids.nats)) && !isAlive(#require(pids.postgres)))
            await first.stop()

            let second = DevEnvironment(configuration(folder), logger: silent)
            let after = try await second.start()
            #expect(after.natsPassword(of: "media") == before.natsPassword(of: "media"))
            let keys = try String(contentsOfFile: after.sealKeysFile, encoding: .utf8).split { " \n".contains($0) }
                .map(String.init)
            #expect(keys == BusPermissions.services.sorted().map { "\($0):\(before.sealKey(of: $0) ?? "")" })
            #expect(
                keys.contains("media:" + (try String(contentsOfFile: after.sealKeyFile(of: "media"), encoding: .utf8).dropLast()))
            )
            #expect(try await sql(#require(after.postgresURL(of: "media")), "SELECT n FROM kept").output == "1\n")
            let again = try RawNATS(url: after.natsURL, user: "operator", password: after.natsPassword(of: "operator"))
            #expect(try again.request("$JS.API.STREAM.INFO.EVT_MEDIA").contains(#""messages":1"#))
            await second.stop()
        }
    }

    @Test func `a role that changes its password shuts out itself alone, until the roles are set up again`() async throws {
        try await withDataFolder { folder in
            let first = DevEnvironment(configuration(folder), logger: silent)
            let endpoints = try await first.start()
            let auth = try #require(endpoints.postgresURL(of: "auth"))
            let social = try #require(endpoints.postgresURL(of: "social"))
            // PostgreSQL has nothing that forbids it. What holds beyond a role's own connections needs rights that it does not have.
            #expect(try await sql(social, "ALTER ROLE social PASSWORD 'another'").status == 0)
            let stolen = social.replacing(/:[^:@\/]+@/, with: ":another@")
            #expect(try await sql(stolen, "SELECT 1").output == "1\n")
            for statement in [
                "ALTER ROLE social VALID UNTIL 'infinity'", "ALTER ROLE social CONNECTION LIMIT 0", "ALTER ROLE social SUPERUSER",
                "ALTER ROLE auth SET search_path = social", "GRANT social TO auth WITH ADMIN OPTION; SET ROLE auth",
            ] {
                let result = try await sql(stolen, statement)
                #expect(result.status != 0, "\(statement): \(result.output)")
            }
            #expect(try await sql(social, "SELECT 1").output.contains("password authentication failed"))
            #expect(try await sql(auth, "SELECT 1").output == "1\n")
            await first.stop()

            let second = DevEnvironment(configuration(folder), logger: silent)
            let after = try await second.start()
            #expect(try await sql(#require(after.postgresURL(of: "social")), "SELECT 1").output == "1\n")
            await second.stop()
        }
    }

    @Test func `services reach PostgreSQL by a socket that others cannot enter`() async throws {
        try await withEnvironment { _, endpoints, folder in
            let address = "SELECT coalesce(host(inet_client_addr()), 'socket')"
            #expect(try await sql(#require(endpoints.postgresURL(of: "auth")), address).output == "socket\n")
            #expect(try await sql(endpoints.adminPostgresURL, address).output == "127.0.0.1\n")
            let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/postgres")[.posixPermissions] as? Int
            #expect(mode == 0o700)
        }
    }

    @Test(arguments: [
        (#"ä "b" %41&c=d?#e"#, "socket"), (String(repeating: "deep ", count: 20), "127.0.0.1"), ("a,b", "127.0.0.1"),
    ]) func `folders whose paths do not serve for a socket are reached by TCP`(name: String, address: String) async throws {
        try await withDataFolder { folder in
            let environment = DevEnvironment(configuration("\(folder)/\(name)"), logger: silent)
            let url = try #require(await environment.start().postgresURL(of: "auth"))
            #expect(try await sql(url, "SELECT coalesce(host(inet_client_addr()), 'socket')").output == "\(address)\n")
            await environment.stop()
        }
    }

    @Test func `the socket of a killed server does not keep the next from starting`() async throws {
        try await withDataFolder { folder in
            let first = DevEnvironment(configuration(folder), logger: silent)
            let address = try await first.start().adminPostgresURL
            let port = try #require(URLComponents(string: address)?.port)
            await first.stop()
            // What a killed server leaves, whose process id another process has now.
            let lock = "1\n\(folder)/postgres/cluster\n0\n\(port)\n\(folder)/postgres\n"
            try lock.write(toFile: "\(folder)/postgres/.s.PGSQL.\(port).lock", atomically: true, encoding: .utf8)
            let next = DevEnvironment(configuration(folder, postgresPort: UInt16(port)), logger: silent)
            let url = try #require(await next.start().postgresURL(of: "auth"))
            #expect(try await sql(url, "SELECT 1").output == "1\n")
            await next.stop()
        }
    }

    @Test func `a killed database starts again though another process has its id by now`() async throws {
        try await withDataFolder { folder in
            let first = DevEnvironment(configuration(folder), logger: silent)
            _ = try await first.start()
            await first.stop()
            // Of PostgreSQL's user: others do not stand in its way. Not this process either, which is its parent.
            let other = try await ChildProcess.spawn(
                Command(executable: "sleep", arguments: ["600"], user: geteuid() == 0 ? "postgres" : nil, output: "/dev/null")
            )
            defer { other.signal(SIGKILL) }
            try await until("it runs as that user") {
                (try? String(contentsOfFile: "/proc/\(other.pid)/comm", encoding: .utf8)) == "sleep\n"
            }
            let left = "\(other.pid)\n\(folder)/postgres/cluster\n0\n5432\n\n127.0.0.1\n"
            try left.write(toFile: "\(folder)/postgres/cluster/postmaster.pid", atomically: true, encoding: .utf8)
            let next = DevEnvironment(configuration(folder), logger: silent)
            let url = try #require(await next.start().postgresURL(of: "auth"))
            #expect(try await sql(url, "SELECT 1").output == "1\n")
            await next.stop()
            #expect(isAlive(other.pid))
        }
    }

    @Test func `the data folder and its logs are not for others, also when the folder was there`() async throws {
        try await withEnvironment { _, _, folder in
            for (name, wanted) in [("", geteuid() == 0 ? 0o711 : 0o700), ("/logs", 0o700), ("/nats", 0o700), ("/secrets", 0o700)]
            {
                let mode = try FileManager.default.attributesOfItem(atPath: folder + name)[.posixPermissions] as? Int
                #expect(mode == wanted, "\(name)")
            }
        }
    }

    @Test func `secrets are for their owner only and in no log or configuration`() async throws {
        try await withEnvironment { _, endpoints, folder in
            let files = try FileManager.default.contentsOfDirectory(atPath: endpoints.secretsFolder)
            // Passwords of the broker and the database, keys of seals with that of gateways, two of services, and deployment keys with the
            // list of their public halves.
            #expect(files.count == 8 + 7 + 7 + 2 + 6 + 1, "\(files)")
            for file in files + ["."] {
                let mode =
                    try FileManager.default.attributesOfItem(atPath: "\(endpoints.secretsFolder)/\(file)")[.posixPermissions]
                    as? Int
                #expect(mode == (file == "." ? 0o700 : 0o600), "\(file)")
            }
            #expect(try String(contentsOfFile: endpoints.refreshSecretFile, encoding: .utf8).utf8.count == 65)
            #expect(try String(contentsOfFile: endpoints.mediaSigningKeyFile, encoding: .utf8).utf8.count == 65)
            let passwords = try files.filter { !$0.hasSuffix(".pem") }
                .map { try String(contentsOfFile: "\(endpoints.secretsFolder)/\($0)", encoding: .utf8).dropLast() }
            #expect(Set(passwords).count == passwords.count)
            for file in ["logs/nats.log", "logs/postgres.log", "logs/setup.log", "nats/nats.conf"] {
                let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                #expect(passwords.allSatisfy { !text.contains($0) }, "\(file)")
            }
        }
    }

    @Test func `killed servers are started again with their data`() async throws {
        try await withEnvironment { environment, endpoints, _ in
            let url = try #require(endpoints.postgresURL(of: "auth"))
            #expect(try await sql(url, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (5)").status == 0)
            let before = await environment.processIDs
            kill(try #require(before.nats), SIGKILL)
            kill(try #require(before.postgres), SIGKILL)
            try await until("other processes") {
                let now = await environment.processIDs
                return now.nats != before.nats && now.postgres != before.postgres
            }
            try await until("NATS answers") {
                (try? RawNATS(url: endpoints.natsURL, user: "auth", password: endpoints.natsPassword(of: "auth"))) != nil
            }
            try await until("PostgreSQL answers") { try await sql(url, "SELECT n FROM kept").output == "5\n" }
        }
    }

    @Test func `two environments work beside each other`() async throws {
        try await withEnvironment { _, one, _ in
            try await withEnvironment { _, two, _ in
                #expect(one.natsURL != two.natsURL && one.adminPostgresURL != two.adminPostgresURL)
                for endpoints in [one, two] {
                    #expect(try await sql(#require(endpoints.postgresURL(of: "auth")), "SELECT current_user").output == "auth\n")
                    _ = try RawNATS(url: endpoints.natsURL, user: "auth", password: endpoints.natsPassword(of: "auth"))
                }
                #expect(throws: RawNATS.Refused.self) {
                    try RawNATS(url: two.natsURL, user: "auth", password: one.natsPassword(of: "auth"))
                }
            }
        }
    }

    @Test func `servers end with a process that is killed`() async throws {
        try await withDataFolder { folder in
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                let environment = DevEnvironment(configuration(folder), logger: silent)
                _ = try await environment.start()
                let pids = await environment.processIDs
                try "\(pids.nats ?? 0) \(pids.postgres ?? 0)".write(toFile: "\(folder)/pids", atomically: true, encoding: .utf8)
                kill(getpid(), SIGKILL)
            }
            let pids = try String(contentsOfFile: "\(folder)/pids", encoding: .utf8).split(separator: " ").compactMap {
                Int32($0)
            }
            try #require(pids.count == 2 && pids.allSatisfy { $0 > 1 })
            // What is still ending does not disturb the next start, which waits for it.
            let next = DevEnvironment(configuration(folder), logger: silent)
            _ = try await next.start()
            #expect(pids.allSatisfy { !isAlive($0) })
            await next.stop()
        }
    }
}

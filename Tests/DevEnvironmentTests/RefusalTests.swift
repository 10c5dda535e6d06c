import DevEnvironment
import Foundation
import Testing

/// What cannot work is refused with its cause and its way out.
@Suite struct RefusalTests {
    private func refusal(_ configuration: DevEnvironmentConfiguration) async -> DevEnvironmentError? {
        let environment = DevEnvironment(configuration, logger: silent)
        do {
            _ = try await environment.start()
            await environment.stop()
            return nil
        } catch {
            return error as? DevEnvironmentError
        }
    }

    @Test func `a folder in use`() async throws {
        try await withEnvironment { environment, _, folder in
            let error = try #require(await refusal(configuration(folder)))
            #expect(error.cause == "The data folder \(folder) is in use by process \(getpid()).")
            await environment.stop()
            #expect(await refusal(configuration(folder)) == nil, "free again after a stop")
        }
    }

    @Test func `ports that are taken`() async throws {
        try await withEnvironment { _, endpoints, _ in
            let nats = try #require(UInt16(endpoints.natsURL.split(separator: ":").last ?? ""))
            let postgres = try #require(
                UInt16(endpoints.adminPostgresURL.split(separator: ":").last?.split(separator: "/").first ?? "")
            )
            try await withDataFolder { folder in
                var wanted = configuration(folder)
                wanted.natsPort = nats
                var error = try #require(await refusal(wanted))
                #expect(error.cause.contains("Port \(nats) of 127.0.0.1, meant for NATS, cannot be used: Address already in use"))
                wanted.natsPort = nil
                wanted.postgresPort = postgres
                error = try #require(await refusal(wanted))
                #expect(error.cause.contains("Port \(postgres)") && error.wayOut.contains("--postgres-port"))
                #expect(
                    try !String(contentsOfFile: "\(folder)/nats/nats-server.pid", encoding: .utf8).split(separator: "\n")
                        .compactMap { Int32($0) }.contains(where: isAlive),
                    "the broker is not left running"
                )
            }
        }
    }

    @Test func `programs that are missing`() async throws {
        try await withDataFolder { folder in
            var wanted = configuration(folder)
            wanted.natsServer = "/no/nats-server"
            var error = try #require(await refusal(wanted))
            #expect(error.wayOut.contains("apt-get install nats-server"))
            wanted.natsServer = "/bin/true"
            error = try #require(await refusal(wanted))
            #expect(error.cause.contains("is no nats-server of version 2.9 or newer"))
            wanted.natsServer = nil
            wanted.postgresBinaries = "/no/postgres"
            error = try #require(await refusal(wanted))
            #expect(error.wayOut == "apt-get install postgresql-15")
        }
    }

    @Test func `folders that cannot be used`() async throws {
        try await withDataFolder { folder in
            try "x".write(toFile: "\(folder)/file", atomically: true, encoding: .utf8)
            var error = try #require(await refusal(configuration("\(folder)/file/data")))
            #expect(error.cause.contains("cannot be made: Not a directory"))
            error = try #require(await refusal(configuration("/proc/data")))
            #expect(error.wayOut.contains("--data"))
        }
    }

    @Test func `a folder that PostgreSQL cannot enter`() async throws {
        try await withDataFolder { folder in
            try FileManager.default.createDirectory(
                atPath: "\(folder)/closed",
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            let error = await refusal(configuration("\(folder)/closed/data"))
            // Only root becomes another user, for whom the folder is closed.
            let isRefused = error.map {
                $0.cause.contains("\(folder)/closed is closed to others") && $0.wayOut.contains("chmod o+x")
            }
            #expect(isRefused == (geteuid() == 0 ? true : nil))
        }
    }

    @Test func `data of another PostgreSQL`() async throws {
        try await withEnvironment { environment, _, folder in
            await environment.stop()
            try "14\n".write(toFile: "\(folder)/postgres/cluster/PG_VERSION", atomically: false, encoding: .utf8)
            let error = try #require(await refusal(configuration(folder)))
            #expect(error.cause.contains("is that of PostgreSQL 14; this needs 15"))
        }
    }

    @Test func `a server that does not come up shows its log`() async throws {
        try await withDataFolder { folder in
            var wanted = configuration(folder)
            wanted.postgresSettings["shared_buffers"] = "nonsense"
            let error = try #require(await refusal(wanted))
            #expect(error.cause.contains("PostgreSQL ended while starting") && error.cause.contains("shared_buffers"))
        }
    }
}

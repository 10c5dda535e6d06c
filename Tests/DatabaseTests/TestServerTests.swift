import Database
import Foundation
import TestSupport
import Testing

/// The private servers of tests.
struct TestServerTests {
    @Test func `the memory of a server lies in its folder, so that a killed one leaves nothing elsewhere`() async throws {
        let server = try await PostgresServer.shared()
        let process = try await server.withDatabase { database in
            try await database.query("SELECT (pg_read_file('postmaster.pid', 0, 20)::text)").first?.decode(as: String.self)
        }
        let id = try #require(process?.split(separator: "\n").first.flatMap { pid_t($0) })
        let memory = ProcessFiles.text(id, "maps")
        #expect(memory.contains("/pg_dynshmem/mmap.") && !memory.contains("/dev/shm/PostgreSQL."), "\(memory)")
    }
}

import Foundation
import TestSupport
import Testing

extension RestartTests {
    /// PostgreSQL and the processes of its connections.
    private func postgres(of home: Installation) -> [pid_t] { home.processes().filter { $0.value == "postgres" }.map(\.key) }

    /// The services whose routes need their database for each request.
    private static let reads = [
        "auth": "/api/users/me", "social": "/api/friends", "streaks": "/api/streaks", "media": "/api/photos/feed",
        "notifications": "/api/notifications", "billing": "/api/recovery/balance",
    ]

    @Test
    func `while PostgreSQL says nothing every request is answered UNAVAILABLE, health says who is without, and all recovers`()
        async throws
    {
        let home = try await Installation.separate.value
        let person = try await register("nia", at: home)
        try await eventually("everything is well") {
            try await home.call("GET", "/api/health").json["status"].string == "ok"
        }
        let processes = postgres(of: home)
        #expect(processes.count > 6)
        for process in processes { kill(process, SIGSTOP) }
        defer { for process in processes { kill(process, SIGCONT) } }
        // No statement ends by its time limit of 5 s, nor a request by its deadline: that would be INTERNAL or DEADLINE_EXCEEDED.
        for path in Self.reads.values {
            for _ in 0..<3 {
                let reply = try await person.get(path)
                #expect(reply.status == 503 && reply.code == "UNAVAILABLE", "\(path): \(reply.text)")
                #expect(reply.header("Retry-After").flatMap { Int($0) } ?? 0 > 0, "\(path)")
            }
        }
        try await eventually("health names the services") {
            let health = try await home.call("GET", "/api/health").json
            return health["status"].string == "degraded" && health["db"].bool == false
                && Set(health["unavailable"].list.compactMap(\.string)) == Set(Self.reads.keys)
        }
        for process in processes { kill(process, SIGCONT) }
        try await eventually("everything is well again") {
            try await home.call("GET", "/api/health").json["status"].string == "ok"
        }
        for path in Self.reads.values { #expect(try await person.get(path).status == 200, "\(path)") }
    }

    @Test func `PostgreSQL killed under requests costs answers of UNAVAILABLE only, and all recovers`() async throws {
        let home = try await Installation.separate.value
        let person = try await register("noa", at: home)
        let asking = Task { () -> [String] in
            var strange: [String] = []
            while !Task.isCancelled {
                for path in Self.reads.values {
                    let reply = try await person.get(path)
                    if reply.status != 200, reply.status != 503 || reply.header("Retry-After") == nil {
                        strange.append("\(path): \(reply.text)")
                    }
                }
            }
            return strange
        }
        let before = Set(postgres(of: home))
        for process in before { kill(process, SIGKILL) }
        try await eventually("it is started again") {
            let now = Set(postgres(of: home))
            return now.isDisjoint(with: before) && now.count > 6
        }
        try await eventually("everything is well again") {
            let health = try await home.call("GET", "/api/health")
            return health.json["status"].string == "ok"
        }
        asking.cancel()
        let strange = try await asking.value
        #expect(strange.isEmpty, "\(strange.prefix(5))")
        // Health looks every two seconds: it may not have seen anything.
        for path in Self.reads.values { try await eventually("\(path) is answered") { try await person.get(path).status == 200 } }
        try await eventually("statements of the tests are answered") { try await home.sql("SELECT 1") == "1" }
    }
}

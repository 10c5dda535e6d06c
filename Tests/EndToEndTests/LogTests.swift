import Foundation
import TestSupport
import Testing

/// What the logs of everything say, and what they never say (D11).
struct LogTests {
    private static let wrong = "wr0ng-but-s3cret-anyway"
    private static let strange = "strange-t0ken-of-mine"

    /// Requests that go well, and requests that each layer refuses, with secrets in every place that can hold one.
    private func misbehave(_ home: Installation, _ person: Person) async throws {
        let email = quoted(person.email)
        let bodies = [
            person.registration(), "{\"email\":\(email),\"password\":\"\(Self.wrong)\"}", "{\"email\":\(email),\"password\":",
            "{\"email\":\(email),\"password\":{\"x\":\"\(Self.wrong)\"}}",
            "{\"email\":[\(email)],\"password\":\"\(Self.wrong)\"}",
            "{\"email\":\"\(Self.wrong)\",\"password\":\"\(Self.wrong)\\u0000\"}", "{\"\(Self.wrong)\":\"\(person.email)\"}",
            "{\"email\":\"\(person.email) \",\"password\":\"short\",\"username\":\"\(Self.wrong)\"}",
        ]
        for path in ["/api/auth/register", "/api/auth/login", "/api/auth/refresh", "/api/friends/request", "/api/auth/logout"] {
            for body in bodies {
                _ = try await home.call(
                    "POST",
                    path,
                    token: Self.strange,
                    json: body,
                    headers: [("Idempotency-Key", Self.strange)]
                )
                _ = try await home.call("POST", path, token: person.token, json: body)
            }
            _ = try await home.call("POST", "\(path)?password=\(Self.wrong)&email=\(person.email)", json: "{}")
        }
        for token in [Self.strange, person.token + "x", person.refreshToken] {
            _ = try await home.call("GET", "/api/users/me", token: token)
            _ = try await home.call("POST", "/api/auth/refresh", json: "{\"refresh_token\":\"\(token)\"}")
        }
        _ = try await home.call("POST", "/api/auth/login", json: "{\"email\":\(email),\"password\":\"\(Person.password)\"}")
        for path in ["/api/streaks/\(Self.wrong)", "/api/notifications?cursor=\(Self.strange)", "/\(Self.wrong)"] {
            _ = try await person.get(path)
        }
        _ = try await person.upload(
            Form(photo: Array(Self.wrong.utf8), fields: [("streak_ids", Self.strange)]),
            key: Self.strange
        )
    }

    @Test func `every line is JSON, and none holds a password, a token or an e-mail, whatever fails`() async throws {
        // An installation of its own: requests of other tests would fail too.
        let home = try await Installation(["--log-level", "trace"])
        var person = try await Person.register("lea", at: home)
        var secrets = [person.token, person.refreshToken]
        try await misbehave(home, person)
        try await person.signIn()
        secrets += [person.token, person.refreshToken]
        // The same while the database ends all connections again and again.
        let kicks = Task {
            while !Task.isCancelled {
                _ = try? await home.sql(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename <> 'postgres'"
                )
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
        for _ in 0..<3 {
            let another = Person(home: home, username: Person.unique("lea"))
            let reply = try await home.call("POST", "/api/auth/register", json: another.registration())
            secrets += [another.email, reply.data["access_token"].string ?? "", reply.data["refresh_token"].string ?? ""]
            try await misbehave(home, another)
        }
        kicks.cancel()
        await kicks.value
        try await eventually("everything is well again") { try await home.call("GET", "/readyz").status == 200 }
        _ = try await person.post("/api/auth/logout")

        let logs = home.logs
        #expect(logs.contains("lost a connection to the database"), "the database did throw them out")
        secrets += [Person.password, person.email, Self.wrong, Self.strange]
        for secret in secrets where !secret.isEmpty {
            let line = logs.split(separator: "\n").first { $0.contains(secret) }
            #expect(line == nil, "\(secret.prefix(8))… is in: \(line?.prefix(300) ?? "")")
        }
        for name in ["nats-auth", "postgres-auth", "postgres-admin", "media-signing-key", "refresh-secret"] {
            #expect(!logs.contains(try home.secret(name)), "the secret \(name) is in a log")
        }

        var levels: Set<String> = []
        var services: Set<String> = []
        for line in (Files.text(home.guardian.log) ?? "").split(separator: "\n") {
            guard let json = try? JSON(Array(line.utf8)) else {
                let known = [
                    // What is said to the person at the terminal.
                    "ready http", "  curl", "  deploy/dev", "  open",
                    // libpq itself, when it is thrown out in the very moment in which it has connected.
                    "FATAL:  terminating connection due to administrator command",
                ]
                #expect(known.contains { line.hasPrefix($0) }, "\(line)")
                continue
            }
            levels.insert(json["level"].string ?? "none")
            services.insert(json["service"].string ?? "none")
            #expect(json["time"].string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) != nil, "\(line)")
            #expect(json["message"].string?.isEmpty == false, "\(line)")
        }
        #expect(levels.isSubset(of: ["trace", "debug", "info", "notice", "warning", "error", "critical"]))
        #expect(levels.isSuperset(of: ["debug", "info", "warning"]))
        #expect(
            services.isSuperset(of: ["auth", "social", "streaks", "media", "notifications", "billing", "gateway", "streaksnap"])
        )
        await home.guardian.end()
    }
}

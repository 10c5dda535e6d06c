import Foundation
import Synchronization
import Testing

/// Hashing passwords is what costs most, and every client may ask for it (AU-1, AU-2).
extension RestartTests {
    @Test func `an address that registers without end keeps no other from signing in`() async throws {
        let home = try await Installation(
            ["--bcrypt-cost", "11"],
            environment: [
                "STREAKSNAP_HTTP_TRUSTED_PROXIES": "127.0.0.1", "STREAKSNAP_AUTH_ADDRESS_REGISTRATIONS": "0",
                "STREAKSNAP_AUTH_REGISTRATIONS": "0",
            ]
        )
        let ada = try await Person.register("ada", at: home)
        let hasEnded = Flag()
        let answers = try await withThrowingTaskGroup(of: Answers.self) { group in
            // Two are hashed and four wait. On a busy machine few clients ask at the same time, so a hash takes long enough for them to meet.
            for _ in 0..<16 {
                group.addTask {
                    var answers = Answers()
                    while !hasEnded.isSet {
                        let newcomer = Person(home: home, username: Person.unique("x"))
                        let reply = try await home.call(
                            "POST",
                            "/api/auth/register",
                            json: newcomer.registration(),
                            headers: [("X-Forwarded-For", "192.0.2.9")]
                        )
                        answers.flood.append(reply.status)
                    }
                    return answers
                }
            }
            group.addTask {
                var answers = Answers()
                for number in 0..<12 {
                    let reply = try await home.call(
                        "POST",
                        "/api/auth/login",
                        json: "{\"email\":\(quoted(ada.email)),\"password\":\"\(Person.password)\"}",
                        headers: [("X-Forwarded-For", "198.51.100.\(number)")]
                    )
                    answers.signIns.append(reply.status)
                }
                hasEnded.set()
                return answers
            }
            var all = Answers()
            for try await one in group {
                all.flood += one.flood
                all.signIns += one.signIns
            }
            return all
        }
        #expect(answers.signIns == Array(repeating: 200, count: 12), "\(answers.signIns)")
        #expect(answers.flood.contains(429) && Set(answers.flood).isSubset(of: [201, 429, 503]), "\(Set(answers.flood))")
        await home.guardian.end()
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }
        func set() { value.withLock { $0 = true } }
    }

    private struct Answers: Sendable {
        var flood: [Int] = []
        var signIns: [Int] = []
    }
}

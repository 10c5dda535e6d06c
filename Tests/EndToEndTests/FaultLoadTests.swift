import Foundation
import Processes
import Synchronization
import TestSupport
import Testing

extension RestartTests {
    /// One fault at a time while people use the app with clients that never ask twice: no request fails, and none waits for its deadline. One after
    /// the other: they share the processes.
    @Suite(.serialized, .timeLimit(.minutes(10))) struct FaultLoadTests {
        /// What happens to a process.
        enum Fault: String, Sendable, CustomTestStringConvertible {
            case killed, frozen
            var testDescription: String { rawValue }
        }

        /// Requests that go on until they are stopped.
        private final class Load: Sendable {
            struct Result: Sendable {
                var answered = 0
                /// Those that did not succeed.
                var failures: [String] = []
                var longest = Duration.zero
            }

            private let result = Mutex(Result())
            private let isEnding = Atomic(false)
            private let clients = Mutex<[Task<Void, Never>]>([])

            var answered: Int { result.withLock { $0.answered } }

            /// - Parameter requests: made in turn by each of four clients.
            init(_ requests: [@Sendable () async throws -> HTTPReply]) {
                for _ in 0..<4 {
                    let client = Task { [self] in
                        while !isEnding.load(ordering: .relaxed) {
                            for request in requests {
                                await make(request)
                                // Load is not what is shown here, and other tests run on the same processors.
                                try? await Task.sleep(for: .milliseconds(20))
                            }
                        }
                    }
                    clients.withLock { $0.append(client) }
                }
            }

            private func make(_ request: @Sendable () async throws -> HTTPReply) async {
                let began = ContinuousClock.now
                let failure: String?
                do {
                    let reply = try await request()
                    failure = (200..<300).contains(reply.status) ? nil : reply.text
                } catch { failure = "\(error)" }
                let duration = ContinuousClock.now - began
                result.withLock { result in
                    result.answered += 1
                    result.longest = max(result.longest, duration)
                    if let failure { result.failures.append("after \(duration): \(failure)") }
                }
            }

            func end() async -> Result {
                isEnding.store(true, ordering: .relaxed)
                for client in clients.withLock({ $0 }) { await client.value }
                return result.withLock { $0 }
            }
        }

        /// How many replicas of a service answer.
        private func replicas(of service: String, at home: Installation) async throws -> Int {
            let bus = try await home.bus()
            let answers = try await bus.scatter("$SRV.PING.\(service)", for: .milliseconds(500), atMost: 10)
            await bus.close()
            return answers.filter { !$0.body.isEmpty }.count
        }

        /// Starts the load of two friends: reads of three services, and changes, which carry no idempotency key.
        private func load(_ home: Installation) async throws -> Load {
            let (kai, lou) = (try await Person.register("kai", at: home), try await Person.register("lou", at: home))
            try await kai.befriend(lou)
            let login = "{\"email\":\"\(lou.email)\",\"password\":\"\(Person.password)\"}"
            return Load([
                { try await kai.get("/api/streaks") },
                { try await lou.get("/api/users/me") },
                {
                    let name = "{\"display_name\":\"Kai \(Int.random(in: 0..<1_000))\"}"
                    return try await home.call("PUT", "/api/users/me", token: kai.token, json: name)
                },
                { try await lou.get("/api/friends") },
                { try await home.call("POST", "/api/auth/login", json: login) },
            ])
        }

        private func expectUnharmed(_ result: Load.Result, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(result.failures == [], "of \(result.answered)", sourceLocation: sourceLocation)
            // Far from the deadline, which is 10 s; a busy machine takes its time.
            #expect(result.longest < .seconds(6), sourceLocation: sourceLocation)
        }

        private func goesOn(_ load: Load, for count: Int = 200) async throws {
            let before = load.answered
            try await eventually("the load goes on", within: .seconds(60)) { load.answered >= before + count }
        }

        @Test(arguments: ["streaks", "auth"], [Fault.killed, .frozen])
        func `a replica fails and no request does`(service: String, fault: Fault) async throws {
            let home = try await Installation.separate.value
            let load = try await load(home)
            let second = try await home.replica(of: service)
            try await eventually("both answer") { try await replicas(of: service, at: home) == 2 }
            try await goesOn(load)
            second.signal(fault == .killed ? SIGKILL : SIGSTOP)
            try await goesOn(load)
            if fault == .frozen {
                second.signal(SIGCONT)
                try await goesOn(load)
                second.signal(SIGTERM)
            }
            _ = await second.waitForExit()
            try await goesOn(load)
            expectUnharmed(await load.end())
        }

        @Test func `the broker is killed and no request fails`() async throws {
            let home = try await Installation.separate.value
            let load = try await load(home)
            try await goesOn(load)
            let found = ProcessTree.children(of: home.guardian.programID).first { ProcessTree.name(of: $0) == "nats-server" }
            let broker = try #require(found)
            #expect(kill(broker, SIGKILL) == 0)
            try await goesOn(load, for: 400)
            expectUnharmed(await load.end())
        }
    }
}

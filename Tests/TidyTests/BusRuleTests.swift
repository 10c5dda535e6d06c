import Testing

/// What keeps the bus in time and its subscriptions to themselves.
struct BusRuleTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    private func uses(of word: String, below folders: String..., outside home: String) -> [Violation] {
        folders.flatMap { tree.swift(below: $0) }.filter { $0.path != home }.flatMap { file in
            file.swift.offsets(of: word).map {
                Violation(path: file.path, line: file.swift.line(at: $0), problem: "uses \(word)")
            }
        }
    }

    @Test func `timers are set under the lock of what they are for`() {
        let home = "Shared/Bus/TimedMutex.swift"
        let violations = ["makeTimerSource", "asyncAfter"].flatMap { uses(of: $0, below: "Shared/", "Services/", outside: home) }
        expectNone(violations, "A timer that is set outside the lock may be set to the later of two times: use TimedMutex.")
        #expect(tree.swift(below: home).contains { !$0.swift.offsets(of: "makeTimerSource").isEmpty })
    }

    @Test func `only a stream's consumer takes messages of other subjects than its own`() {
        let home = "Shared/Bus/JetStream/Consumption.swift"
        let word = "judgesSubjects: Bool { true }"
        expectNone(
            uses(of: word, below: "Shared/", "Services/", outside: home),
            "Any service can have the broker send a stream's message to any subscription."
        )
        #expect(tree.swift(below: home).contains { $0.swift.offsets(of: word).count == 1 })
    }

    @Test func `subscriptions are made in one place, which checks subjects`() {
        let home = "Shared/Bus/Connection/BusSubscription.swift"
        let words = ["natsConnection_Subscribe", "natsConnection_QueueSubscribe", "natsConnection_SubscribeSync", "js_Subscribe"]
        let violations = words.flatMap { uses(of: $0, below: "Shared/", "Services/", outside: home) }
        expectNone(violations, "MessageReceiver stands between nats.c and all else.")
    }
}

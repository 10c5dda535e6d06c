import Bus
import Kernel
import TestSupport
import Testing

extension BrokerTests {
    /// Whatever text is put into headers or subjects: it is refused, or arrives as it is and changes nothing else.
    @Suite struct HeaderTests {
        private static let alphabet: [Character] = [
            "a", "Z", "0", " ", ":", "\r", "\n", "\r\n", "\t", "\0", "ü", "😀", "-", "_", ".", "*", ">", "\u{7F}", "\u{85}", ",",
            "\"", "\\",
        ]

        private func text(_ random: inout SeededGenerator) -> String {
            String((0..<Int.random(in: 0...12, using: &random)).map { _ in Self.alphabet.randomElement(using: &random) ?? "a" })
        }

        @Test func `nothing can be injected`() async throws {
            try await withBus { _, bus in
                let arrived = Shared<[BusMessage]>([])
                try bus.subscribe("probe") { message in arrived.update { $0.append(message) } }
                var random = SeededGenerator(seed: 42)
                var expected: [BusMessage] = []
                var refused = 0
                for number in 0..<3_000 {
                    let name = Bool.random(using: &random) ? "x-name" : text(&random)
                    let value = text(&random)
                    let headers: BusHeaders = [name: value, "number": String(number)]
                    do {
                        try bus.publish("probe", headers: headers, body: [1, 2])
                        expected.append(BusMessage(subject: "probe", headers: headers, body: [1, 2]))
                        #expect(!(name + value).unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
                    } catch { refused += 1 }
                }
                #expect(refused > 500 && expected.count > 300)
                try await eventually("all arrive") { arrived.value.count == expected.count }
                for (message, wanted) in zip(arrived.value, expected) {
                    #expect(sorted(message) == sorted(wanted))
                }
            }
        }

        @Test func `a context with line breaks is refused before it is sent`() async throws {
            try await withBus { _, bus in
                try await expectFailure(.invalidArgument) {
                    try await bus.call(Notes.echo, "x", context: CallContext(idempotencyKey: "a\r\nprincipal-role: admin"))
                }
                try await expectFailure(.invalidArgument) {
                    try await bus.call(Notes.echo, "x", context: CallContext(requestID: "r\nprincipal-role: admin"))
                }
            }
        }

        @Test func `only subjects are subjects`() async throws {
            try await withBus { _, bus in
                for subject in [
                    "", ".", "a.", ".a", "a..b", "a b", "a\r\nPUB x 0\r\n", "a.*", ">", "a\0",
                    String(repeating: "a", count: 2_000),
                ] {
                    #expect(throws: ServiceError.self, "\(subject.debugDescription)") { try bus.publish(subject, body: []) }
                    #expect(throws: ServiceError.self) { try bus.publish("fine", body: [], reply: subject) }
                }
                for subject in ["", "a b", "a..b", "a\n"] {
                    #expect(throws: ServiceError.self) { try bus.subscribe(subject) { _ in } }
                    #expect(throws: ServiceError.self) { try bus.subscribe("fine", queue: subject) { _ in } }
                }
                try bus.publish("fine", body: [])
                try await bus.flush()
            }
        }

        private func sorted(_ message: BusMessage) -> [String] {
            // An empty value is not sent: nats.c would take the next line for it.
            message.headers.fields.filter { !$0.value.isEmpty }.map { "\($0.name)=\($0.value)" }.sorted() + ["\(message.body)"]
        }
    }
}

internal import Bus
internal import Kernel
internal import Logging
internal import Tokens

/// Learns which sessions ended (AU-3) from the stream `REVOKED`, without any service: at once by a plain subscription, and by reading
/// every second what the stream has that was not read yet, so that nothing is missed by a gateway that starts, or was without the broker.
struct RevocationFeed: Sendable {
    /// Messages that are read at once.
    private static let batch = 500

    let bus: BusConnection
    let revocations: Revocations
    let logger: Logger

    /// Whether the stream has been read to its end once: until then no token can be judged.
    var isReady: Bool { revocations.isComplete }

    /// Receives revocations as they are published. Call it before `run`, so that none falls between the two.
    func listen() throws -> BusSubscription {
        try bus.subscribe(RevocationStream.subjects) { message in take(subject: message.subject, body: message.body) }
    }

    /// Reads until cancelled.
    func run() async {
        var position = StreamPosition()
        var failures = 0
        while !Task.isCancelled {
            do {
                try await catchUp(&position)
                if !isReady {
                    revocations.complete()
                    logger.info("revocations are known")
                }
                failures = 0
                try? await Task.sleep(for: .seconds(1))
            } catch {
                // The first, and then ever more rarely.
                failures += 1
                if !Task.isCancelled, failures & (failures - 1) == 0 {
                    logger.warning("revocations were not read", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Reads what the stream has and `position` has not passed.
    func catchUp(_ position: inout StreamPosition) async throws {
        let jetStream = JetStream(connection: bus)
        let info = try await jetStream.streamInfo(RevocationStream.name)
        while let places = position.missing(info) {
            let messages = try await jetStream.messages(in: RevocationStream.name, at: places, atMost: Self.batch)
            for message in messages { take(subject: message.subject, body: message.body) }
            position.read(upTo: messages.last?.streamSequence ?? places.upperBound)
        }
    }

    private func take(subject: String, body: [UInt8]) {
        guard let revocation = RevocationStream.revocation(subject: subject, body: body) else {
            return logger.error("a revocation was not understood", metadata: ["subject": "\(subject)"])
        }
        revocations.add([revocation.session])
    }
}

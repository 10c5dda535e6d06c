public import Bus
internal import Kernel
public import Logging
private import Synchronization

/// Event streams and the consumers of each: what the broker must have.
public struct EventTopology: Sendable, Equatable {
    /// A stream and the durable consumers on it.
    public struct Stream: Sendable, Equatable {
        /// What it keeps.
        public var configuration: StreamConfiguration
        /// Durable consumers, each named after the feature that reads (`EventConsumer.durableName`).
        public var readers: [String]

        /// A stream with its readers.
        public init(_ configuration: StreamConfiguration, readers: [String] = []) {
            self.configuration = configuration
            self.readers = readers
        }
    }

    /// All streams.
    public var streams: [Stream]

    /// These streams.
    public init(_ streams: [Stream]) { self.streams = streams }

    /// The event streams of services.
    ///
    /// - Parameters:
    ///   - services: each gets the stream `EVT_<NAME>` for the subjects `evt.<name>.>`.
    ///   - sources: whose events each feature consumes, by service and feature.
    ///   - replicas: copies of every stream in a cluster of brokers: 1, 3 or 5.
    public init(services: [String], sources: [String: [String: [String]]], replicas: Int = 1) {
        streams = services.map { service in
            let readers = sources.flatMap { reader, features in
                features.filter { $0.value.contains(service) }.keys.map {
                    EventConsumer.durableName(service: reader, feature: $0)
                }
            }
            return Stream(.events(ofService: service, replicas: replicas), readers: readers.sorted())
        }
    }
}

extension StreamConfiguration {
    /// The stream of a service's events: `EVT_AUTH` with `evt.auth.>`, kept for 7 days. A stream that is gone is noticed, and its events are
    /// published again; single ones that are gone are not, so no client may remove them.
    public static func events(ofService service: String, replicas: Int = 1) -> StreamConfiguration {
        StreamConfiguration(
            name: EventConsumer.streamName(ofService: service),
            subjects: ["evt.\(service).>"],
            replicas: replicas,
            keepsMessages: true
        )
    }
}

/// Makes event streams and durable consumers, and makes them again after a loss.
///
/// One process does this for all services, as a broker's user with all rights: a user who may change a stream can have any subject captured
/// in it, and one who may make a consumer can have it publish to any subject (`deliver_subject`), so services may do neither (D9). Exactly one process,
/// since nats-server 2.9 answers one of several that make a stream at once that another stream has its subjects, or never again.
public final class StreamProvisioner: Sendable {
    private let topology: EventTopology
    private let jetStream: JetStream
    private let logger: Logger
    private let hasSucceeded = Atomic(false)
    private let lastCheck = Mutex(BrokerCheck())

    /// What the last look at the broker found, by the names of the streams.
    private struct BrokerCheck {
        var streams: [String: StreamInfo] = [:]
        /// How many looks in a row did not ask for each consumer.
        var shortOnes = 0
    }

    /// A look that asks for each consumer follows so many that ask for the streams only.
    private static let mostShortChecks = 4

    /// - Parameter jetStream: over a connection of a user who may manage streams.
    public init(_ topology: EventTopology, jetStream: JetStream, logger: Logger) {
        self.topology = topology
        self.jetStream = jetStream
        self.logger = logger
    }

    /// Whether the last check of the broker found, or made, everything.
    public var isComplete: Bool { hasSucceeded.load(ordering: .relaxed) }

    /// Makes what is missing and changes what differs. Safe to repeat. What the broker refuses does not keep the others away.
    ///
    /// Streams one after the other, which nats-server 2.9 asks for (`ensureStream`); then all consumers at once: there are several for each
    /// stream, and each would otherwise wait for the answer to the one before.
    ///
    /// - Throws: `JetStreamError` for the first that the broker refuses, after all others are made; `ServiceError` at once while it is away.
    public func provision() async throws {
        var refusals: [JetStreamError] = []
        for stream in topology.streams {
            do { try await jetStream.ensureStream(stream.configuration) } catch let error as JetStreamError {
                refusals.append(error)
            }
        }
        // A stream that may not be changed is there, and can have its readers.
        refusals += try await withThrowingTaskGroup(of: JetStreamError?.self) { [jetStream] tasks in
            for stream in topology.streams {
                for reader in stream.readers {
                    tasks.addTask {
                        do { try await jetStream.ensureReader(stream: stream.configuration.name, durable: reader) } catch let
                            error
                            as JetStreamError
                        { return error }
                        return nil
                    }
                }
            }
            var found: [JetStreamError] = []
            for try await refusal in tasks { if let refusal { found.append(refusal) } }
            return found
        }
        if let first = refusals.first { throw first }
        hasSucceeded.store(true, ordering: .relaxed)
    }

    /// Provisions at once, and again whenever something is missing, until the task is cancelled. A broker that is away is waited for.
    ///
    /// - Parameter interval: how often the broker is checked.
    public func watch(every interval: Duration = .seconds(2)) async {
        var isProvisioned = false
        var failures = 0
        while !Task.isCancelled {
            do {
                if isProvisioned, try await isAnythingMissing() {
                    logger.warning("the broker has lost event streams or consumers; they are made again")
                    isProvisioned = false
                }
                if !isProvisioned {
                    try await provision()
                    logger.info("event streams are ready", metadata: ["streams": "\(topology.streams.count)"])
                    isProvisioned = true
                }
                hasSucceeded.store(true, ordering: .relaxed)
                failures = 0
            } catch {
                hasSucceeded.store(false, ordering: .relaxed)
                // The first, and then ever more rarely.
                failures += 1
                if !Task.isCancelled, failures & (failures - 1) == 0 {
                    logger.warning("event streams could not be made yet", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: interval)
        }
    }

    /// Whether a stream or consumer is gone, or a consumer has passed the end of its stream: a stream that lost its end would fill again
    /// without being delivered.
    ///
    /// Most checks ask one question a stream: one that is the same, has not become shorter and has all its consumers is as it was.
    func isAnythingMissing() async throws -> Bool {
        let last = lastCheck.withLock { $0 }
        var check = BrokerCheck()
        defer { lastCheck.withLock { $0 = check } }
        do {
            if last.shortOnes < Self.mostShortChecks, let streams = try await unchanged(since: last.streams) {
                check = BrokerCheck(streams: streams, shortOnes: last.shortOnes + 1)
                return false
            }
            guard let streams = try await askForConsumers() else { return true }
            check.streams = streams
            return false
        } catch let error as JetStreamError where error.status == 404 {
            return true
        }
    }

    /// - Returns: the streams; nil when one is not as it was.
    private func unchanged(since before: [String: StreamInfo]) async throws -> [String: StreamInfo]? {
        var found: [String: StreamInfo] = [:]
        for stream in topology.streams {
            let name = stream.configuration.name
            guard let before = before[name] else { return nil }
            let now = try await jetStream.streamInfo(name)
            guard now.created == before.created, now.lastSequence >= before.lastSequence, now.consumers == stream.readers.count
            else { return nil }
            found[name] = now
        }
        return found
    }

    /// Deletes consumers that have passed the end of their stream.
    ///
    /// - Returns: the streams; nil when a consumer was deleted.
    private func askForConsumers() async throws -> [String: StreamInfo]? {
        var found: [String: StreamInfo] = [:]
        for stream in topology.streams {
            let name = stream.configuration.name
            var passed: [String: Int] = [:]
            for reader in stream.readers {
                passed[reader] = try await jetStream.consumerInfo(stream: name, durable: reader).deliveredStreamSequence
            }
            // Asked last: a stream only grows.
            let now = try await jetStream.streamInfo(name)
            let ahead = passed.filter { $0.value > now.lastSequence }.keys
            for reader in ahead { try await jetStream.deleteConsumer(stream: name, durable: reader) }
            if !ahead.isEmpty { return nil }
            found[name] = now
        }
        return found
    }
}

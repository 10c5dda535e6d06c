public import Bus
internal import FoundationEssentials
public import Kernel
public import Logging

/// The environment's clock offset, kept in a JetStream stream so that it survives restarts (PF-7).
public struct DevelopmentClockState: Sendable {
    static let stream = "DEV_CLOCK"
    static let subject = "dev.clock.state"
    private let bus: BusConnection
    private let logger: Logger?

    /// State on this bus.
    ///
    /// - Parameter logger: gets a message when what is stored cannot be used.
    public init(bus: BusConnection, logger: Logger? = nil) {
        self.bus = bus
        self.logger = logger
    }

    /// The offset stored last; zero when the clock was never moved, and when what is stored is none that it could follow.
    ///
    /// - Throws: `ServiceError` when the broker does not answer.
    public func load() async throws -> Interval { try await read().offset }

    /// What is stored.
    struct Stored {
        let offset: Interval
        /// Where it is in the stream; 0 when nothing is.
        let sequence: Int
    }

    func read() async throws -> Stored {
        let reply = try await bus.request(
            "$JS.API.STREAM.MSG.GET.\(Self.stream)",
            headers: [:],
            body: Array("{\"last_by_subj\":\"\(Self.subject)\"}".utf8),
            deadline: SystemClock.now() + .seconds(5)
        )
        struct Answer: Decodable {
            struct Message: Decodable {
                let seq: Int
                let data: Data?
            }
            let message: Message?
        }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(reply.body)), let message = answer.message
        else { return Stored(offset: .zero, sequence: 0) }
        guard let offset = Self.offset(message.data ?? Data()) else {
            logger?.warning("the stored offset of the development clock was ignored: the clock could not follow it")
            return Stored(offset: .zero, sequence: message.seq)
        }
        return Stored(offset: offset, sequence: message.seq)
    }

    /// An offset as it is written on the bus, in whole microseconds; nil for anything else, and when no clock could follow it.
    static func offset(_ body: some Collection<UInt8>) -> Interval? {
        guard let microseconds = Int64(String(decoding: body, as: UTF8.self)) else { return nil }
        let offset = Interval(microseconds: microseconds)
        return offset <= DevelopmentClock.longestShift ? offset : nil
    }

    /// What the broker must have for it.
    public static let configuration = StreamConfiguration(name: stream, subjects: [subject], maxMessages: 1)

    /// Stores the offset in the place of what was read.
    ///
    /// - Parameter sequence: where what was read is (`Stored.sequence`).
    /// - Returns: false when another offset was stored meanwhile; then this one is not.
    /// - Throws: `ServiceError` `UNAVAILABLE` also when the stream was not made (`configuration`).
    func store(_ offset: Interval, after sequence: Int) async throws -> Bool {
        do {
            _ = try await JetStream(connection: bus).publish(
                subject: Self.subject,
                messageID: nil,
                headers: ["Nats-Expected-Last-Subject-Sequence": "\(sequence)"],
                body: Array("\(offset.microseconds)".utf8),
                deadline: SystemClock.now() + .seconds(5)
            )
            return true
        } catch let error as JetStreamError where error.code == JetStreamError.wrongLastSequence { return false }
    }
}

public import Bus
internal import FoundationEssentials
public import Kernel

/// The environment's clock offset, kept in a JetStream stream so that it survives restarts (PF-7).
public struct DevelopmentClockState: Sendable {
    static let stream = "DEV_CLOCK"
    static let subject = "dev.clock.state"
    private let bus: BusConnection

    /// State on this bus.
    public init(bus: BusConnection) { self.bus = bus }

    /// The offset stored last; zero when the clock was never moved.
    public func load() async throws -> Interval {
        let reply = try await bus.request(
            "$JS.API.STREAM.MSG.GET.\(Self.stream)",
            headers: [:],
            body: Array("{\"last_by_subj\":\"\(Self.subject)\"}".utf8),
            deadline: SystemClock.now() + .seconds(5)
        )
        struct Answer: Decodable {
            struct Message: Decodable { let data: Data? }
            let message: Message?
        }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(reply.body)), let data = answer.message?.data,
            let offset = Int64(String(decoding: data, as: UTF8.self))
        else { return .zero }
        return Interval(microseconds: offset)
    }

    /// What the broker must have for it.
    public static let configuration = StreamConfiguration(name: stream, subjects: [subject], maxMessages: 1)

    /// Stores the offset.
    ///
    /// - Throws: `ServiceError` `UNAVAILABLE` also when nobody has made the stream (`configuration`).
    public func store(_ offset: Interval) async throws {
        let jetStream = JetStream(connection: bus)
        let results = await jetStream.publish(
            [OutgoingEvent(subject: Self.subject, messageID: nil, headers: [:], body: Array("\(offset.microseconds)".utf8))],
            deadline: SystemClock.now() + .seconds(5)
        )
        if case .failure(let error)? = results.first { throw error }
    }
}

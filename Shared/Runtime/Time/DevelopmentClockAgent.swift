public import Bus
internal import Kernel
public import Logging

/// The part of a replica that obeys the development clock: moves its time, runs what became due, and says whether more remains.
public struct DevelopmentClockAgent: Sendable {
    static let subject = "dev.clock.advance"
    /// In `$SRV.INFO`'s metadata of a replica that obeys the clock. Others on the bus are not waited for.
    public static let mark = "clock"

    let service: String
    let clock: DevelopmentClock
    let bus: BusConnection
    let logger: Logger
    /// Runs due work and sends waiting events; returns what was done plus what is still under way.
    let settle: @Sendable () async throws -> Int

    /// The agent of one replica.
    ///
    /// - Parameter settle: runs due work and sends waiting events; returns what was done plus what is still under way.
    public init(
        service: String,
        clock: DevelopmentClock,
        bus: BusConnection,
        logger: Logger,
        settle: @escaping @Sendable () async throws -> Int
    ) {
        self.service = service
        self.clock = clock
        self.bus = bus
        self.logger = logger
        self.settle = settle
    }

    /// Answers `dev.clock.advance` (body: the offset in microseconds) with `<service> <rows dealt with or under way>`. The message only says
    /// that an offset was stored: the clock follows what is stored, or services would show different dates when the one who sends it is
    /// killed, or the broker refuses to store. Any other message is logged and ignored: any client that may publish could send it, and no
    /// clock must be moved to where arithmetic ends.
    public func listen() throws {
        _ = try bus.subscribe(Self.subject) { message in
            guard let reply = message.reply, let offset = DevelopmentClockState.offset(message.body) else {
                return ignore(message, "no offset it could follow")
            }
            Task {
                do {
                    let stored = try await DevelopmentClockState(bus: bus, logger: logger).load()
                    guard stored >= offset else { return ignore(message, "that offset is not stored") }
                    clock.shift(to: stored)
                    let rows = try await settle()
                    try bus.publish(reply, body: Array("\(service) \(rows)".utf8))
                } catch {
                    logger.warning("the development clock could not settle", metadata: ["error": "\(error)"])
                    try? bus.publish(reply, body: Array("\(service) 1".utf8))
                }
            }
        }
    }

    private func ignore(_ message: BusMessage, _ reason: String) {
        let body = String(decoding: message.body.prefix(40), as: UTF8.self)
        logger.warning("a message to the development clock was ignored: \(reason)", metadata: ["body": "\(body)"])
    }
}

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
    /// Runs due work and sends waiting events.
    let settle: @Sendable () async throws -> Work

    /// What a replica has done and has to do.
    public struct Work: Sendable {
        /// Rows and events that were dealt with since the replica started, by this question and otherwise. It only grows.
        public var done: Int
        /// Those that this question has dealt with, and those that still wait.
        public var underWay: Int

        /// What is answered.
        public init(done: Int, underWay: Int) { (self.done, self.underWay) = (done, underWay) }
    }

    /// The agent of one replica.
    ///
    /// - Parameter settle: runs due work and sends waiting events, and waits for work that was begun otherwise.
    public init(
        service: String,
        clock: DevelopmentClock,
        bus: BusConnection,
        logger: Logger,
        settle: @escaping @Sendable () async throws -> Work
    ) {
        self.service = service
        self.clock = clock
        self.bus = bus
        self.logger = logger
        self.settle = settle
    }

    /// Answers `dev.clock.advance` (body: the offset in microseconds) with `<service> <done so far> <dealt with now or under way>`. The message only says
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
                    let work = try await settle()
                    try bus.publish(reply, body: Array("\(service) \(work.done) \(work.underWay)".utf8))
                } catch {
                    logger.warning("the development clock could not settle", metadata: ["error": "\(error)"])
                    try? bus.publish(reply, body: Array("\(service) 0 1".utf8))
                }
            }
        }
    }

    private func ignore(_ message: BusMessage, _ reason: String) {
        let body = String(decoding: message.body.prefix(40), as: UTF8.self)
        logger.warning("a message to the development clock was ignored: \(reason)", metadata: ["body": "\(body)"])
    }
}

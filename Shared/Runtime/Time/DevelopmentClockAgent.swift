internal import Bus
internal import Kernel
internal import Logging

/// The part of a replica that obeys the development clock: moves its time, runs what became due, and says whether more remains.
struct DevelopmentClockAgent: Sendable {
    static let subject = "dev.clock.advance"
    /// In `$SRV.INFO`'s metadata: whoever has it obeys the clock. Others on the bus are not waited for.
    static let mark = "clock"

    let service: String
    let clock: DevelopmentClock
    let bus: BusConnection
    let logger: Logger
    /// Runs due work and sends waiting events; returns what was done plus what is still under way.
    let settle: @Sendable () async throws -> Int

    /// Answers `dev.clock.advance` (body: the offset in microseconds) with `<service> <rows dealt with or under way>`. Any other message is
    /// logged and ignored: whoever may publish could send it, and no clock must be moved to where arithmetic ends.
    func listen() throws {
        _ = try bus.subscribe(Self.subject) { message in
            guard let reply = message.reply, let offset = DevelopmentClockState.offset(message.body), clock.shift(to: offset)
            else {
                let body = String(decoding: message.body.prefix(40), as: UTF8.self)
                logger.warning(
                    "a message to the development clock was ignored: no offset it could follow",
                    metadata: ["body": "\(body)"]
                )
                return
            }
            Task {
                do {
                    let rows = try await settle()
                    try bus.publish(reply, body: Array("\(service) \(rows)".utf8))
                } catch {
                    logger.warning("the development clock could not settle", metadata: ["error": "\(error)"])
                    try? bus.publish(reply, body: Array("\(service) 1".utf8))
                }
            }
        }
    }
}

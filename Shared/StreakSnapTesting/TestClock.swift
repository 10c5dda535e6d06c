public import Foundation
import StreakSnapClient

/// The clock of a world. Between moves it runs as the machine's does. It never goes back.
///
/// When a move returns, nothing is under way: all work that became due up to that time is done, breaks, reminders, expiries, the events that they
/// caused, and what was pushed and mailed.
public struct TestClock: Sendable {
    let world: TestWorld

    /// What it shows.
    public func now() async throws -> Date { try await world.call("GET", "/clock").instant("now") }

    /// Moves it to an instant.
    ///
    /// - Returns: what it shows now.
    /// - Throws: ``TestKitError`` `VALIDATION_ERROR` for an instant before the present or after 2100.
    @discardableResult
    public func set(_ time: Date) async throws -> Date { try await move(["now": .text(Instants.text(time))]) }

    /// Moves it to an instant.
    ///
    /// - Parameter time: such as `2030-03-05T23:59:00Z`.
    @discardableResult
    public func set(_ time: String) async throws -> Date { try await move(["now": .text(time)]) }

    /// Moves it forward. Days have 24 hours.
    @discardableResult
    public func advance(days: Int = 0, hours: Int = 0, minutes: Int = 0, seconds: Int = 0) async throws -> Date {
        try await move(["advance_seconds": .whole(Int64(((days * 24 + hours) * 60 + minutes) * 60 + seconds))])
    }

    /// Moves it to the next time at which a clock on the wall shows this.
    ///
    /// - Parameters:
    ///   - time: hours and minutes, from `00:00` to `23:59`.
    ///   - zone: an IANA name.
    @discardableResult
    public func advance(to time: String, in zone: String = "UTC") async throws -> Date {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0..<24).contains(hour), (0..<60).contains(minute)
        else { throw TestKitError("VALIDATION_ERROR", "“\(time)” must be between 00:00 and 23:59", field: "time") }
        guard let timeZone = TimeZone(identifier: zone) else {
            throw TestKitError("VALIDATION_ERROR", "“\(zone)” must be an IANA time zone", field: "zone")
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let wanted = DateComponents(hour: hour, minute: minute, second: 0)
        guard let next = calendar.nextDate(after: try await now(), matching: wanted, matchingPolicy: .nextTime) else {
            throw TestKitError("VALIDATION_ERROR", "“\(time)” does not come in \(zone)", field: "time")
        }
        return try await set(next)
    }

    private func move(_ body: [String: JSONValue]) async throws -> Date {
        let now = try await world.call("PUT", "/clock", body: body).instant("now")
        // Access tokens may have ended: clients of people sign in again when they need to.
        world.moves.next()
        return now
    }
}

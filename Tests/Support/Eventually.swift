private import Kernel
private import Database

/// A condition that did not come to hold in time.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String
}

/// Waits until a condition holds, and asks for it more and more rarely: after 5 ms at first, every 100 ms in the end.
///
/// A condition that throws a `DatabaseError` or a `ServiceError` does not hold yet: the server it asks may be about to start. Any other
/// error ends the wait and is thrown.
///
/// - Parameters:
///   - what: completes "never happened: …".
///   - limit: how long to wait. A loaded machine is slow, so it should be far more than the condition needs.
/// - Throws: `NeverHappened` with the last error of the condition, if there was one; what the condition throws.
public func eventually(
    _ what: @autoclosure () -> String = "the condition holds",
    within limit: Duration = .seconds(60),
    file: StaticString = #fileID,
    line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now.advanced(by: limit)
    var pause = Duration.milliseconds(5)
    var failure: (any Error)?
    while true {
        // The last attempt begins after the limit: a test that was not given the processor for so long still asks once.
        let isLast = ContinuousClock.now >= end
        do {
            if try await condition() { return }
            failure = nil
        } catch let error where error is DatabaseError || error is ServiceError { failure = error }
        if isLast { break }
        try await Task.sleep(for: pause)
        pause = min(pause * 3 / 2, .milliseconds(100))
    }
    let cause = failure.map { "; last error: \($0)" } ?? ""
    throw NeverHappened(description: "never happened within \(limit): \(what()) (\(file):\(line))\(cause)")
}

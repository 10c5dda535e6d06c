import Foundation

/// Time, chance and names: the client's only source of each, so that tests can give their own.
struct Surroundings: Sendable {
    /// The device's clock.
    var now: @Sendable () -> Date = { Date() }
    /// From 0 up to 1, for pauses.
    var fraction: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Keys of changes, boundaries of forms.
    var name: @Sendable () -> String = { UUID().uuidString.lowercased() }
    /// Waits.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
}

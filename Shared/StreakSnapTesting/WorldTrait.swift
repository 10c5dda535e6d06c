public import Testing

/// Gives each test a world of its own, ``TestWorld/current``, and ends it after the test.
///
/// On a suite it holds for every test in it, also in suites inside. Each argument of a parameterised test has its own world.
public struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
    let clock: String?
    let settings: [String: String]

    /// Every test of a suite gets one.
    public var isRecursive: Bool { true }

    /// Runs a test in a world.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestEnvironment.shared.withWorld(clock: clock, settings: settings) { _ in try await function() }
    }
}

extension Trait where Self == WorldTrait {
    /// A world whose clock shows the present.
    public static var world: WorldTrait { WorldTrait(clock: nil, settings: [:]) }

    /// A world.
    ///
    /// - Parameters:
    ///   - clock: what its clock shows at first, such as `2030-03-04T08:00:00Z`; nil for the present. It only goes forward.
    ///   - settings: of the services by key, `["streaks.snap-window": "enforce"]`; such a world takes about a second.
    public static func world(clock: String? = nil, settings: [String: String] = [:]) -> WorldTrait {
        WorldTrait(clock: clock, settings: settings)
    }
}

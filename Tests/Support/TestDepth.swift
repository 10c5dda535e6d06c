private import Foundation

/// How thorough a run of the tests is (`deploy/dev test --depth`).
///
/// A test reads it here and nowhere else. It shows the same behaviour in both depths; `full` gives it more rounds, seeds, or time.
/// `deploy/docs/testing.md` lists every test that asks.
public enum TestDepth: String, Sendable {
    /// The default: every behaviour at least once, within minutes.
    case quick
    /// What a release needs: long soaks, many kills, statistics, many seeds.
    case full

    /// The depth of this run, from STREAKSNAP_TEST_DEPTH; `quick` when it is not set.
    public static let current: TestDepth = {
        let name = ProcessInfo.processInfo.environment["STREAKSNAP_TEST_DEPTH"] ?? ""
        guard !name.isEmpty else { return .quick }
        guard let depth = TestDepth(rawValue: name) else {
            preconditionFailure("STREAKSNAP_TEST_DEPTH must be quick or full, not “\(name)”")
        }
        return depth
    }()

    /// One value for each depth.
    public static func pick<Value>(quick: Value, full: Value) -> Value { current == .quick ? quick : full }

    /// The first seeds of a property test.
    ///
    /// - Parameters:
    ///   - quick: how many are enough to show the behaviour.
    ///   - full: how many a release tries.
    public static func seeds(quick: UInt64, full: UInt64) -> Range<UInt64> { 0..<pick(quick: quick, full: full) }
}

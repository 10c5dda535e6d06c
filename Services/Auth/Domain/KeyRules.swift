public import Kernel

/// Which of our own keys sign and which are published (AU-3).
///
/// A key's name says when it was made: `20260102T030405Z.pem`. Such a key is published at once and signs a minute later, when every gateway
/// has fetched it; the one before is published until the last token it signed has expired. A name without a time counts as made long ago.
public struct KeySchedule: Hashable, Sendable {
    /// How long a key is published before it signs: gateways ask every 30 s.
    public static let announcement = Interval.minutes(1)
    /// How long a key is published after it has signed for the last time: a token's 15 min, and room for clocks.
    public static let retirement = Interval.minutes(20)

    /// The names of the published keys, oldest first.
    public let published: [String]
    /// The one that signs; nil when there is no key.
    public let signing: String?

    /// The state of these keys at `now`.
    public init(names: [String], now: Instant) {
        let keys = names.map { (name: $0, begins: Self.made(of: $0).map { $0 + Self.announcement }) }
            .sorted { ($0.begins ?? .epoch, $0.name) < ($1.begins ?? .epoch, $1.name) }
        let signing = keys.lastIndex { ($0.begins ?? .epoch) <= now } ?? keys.indices.first
        self.signing = signing.map { keys[$0].name }
        self.published = keys.indices.filter { index in
            guard let signing, index < signing, let successor = keys[index + 1].begins else { return true }
            return successor + Self.retirement > now
        }.map { keys[$0].name }
    }

    /// The name of a key made at `now`.
    public static func name(now: Instant) -> String {
        now.description.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z.pem"
    }

    /// When a key was made; nil when its name does not say.
    static func made(of name: String) -> Instant? {
        let bytes = Array(name.utf8)
        guard bytes.count == 20, name.hasSuffix("Z.pem") else { return nil }
        func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let date = "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))"
        return Instant(rfc3339: "\(date)\(part(8..<9))\(part(9..<11)):\(part(11..<13)):\(part(13..<15))Z")
    }
}

/// When to ask another server for its keys again (AU-5).
public struct KeySetFreshness: Hashable, Sendable {
    /// A key that is not among the known ones is fetched at most this often.
    public static let shortest = Interval.minutes(1)
    /// Keys are asked for anew after this long, so that withdrawn ones stop to count.
    public static let longest = Interval.hours(24)
    /// After a failure, sooner: no one can sign in with Apple meanwhile.
    public static let afterFailure = Interval.seconds(5)

    private var fetchedAt: Instant?
    private var failedAt: Instant?

    /// Nothing was asked for yet.
    public init() {}

    /// What to do for a token.
    public enum Decision: Hashable, Sendable {
        /// The keys that are known decide.
        case use
        /// Ask first.
        case fetch
        /// There are no keys, and it is too early to ask again.
        case wait(Interval)
    }

    /// Decides.
    ///
    /// - Parameter isKnown: whether the token's key is among those known.
    public func decide(isKnown: Bool, now: Instant) -> Decision {
        if let failedAt, now - failedAt < Self.afterFailure {
            return fetchedAt == nil ? .wait(Self.afterFailure + (failedAt - now)) : .use
        }
        guard let fetchedAt else { return .fetch }
        return now - fetchedAt >= (isKnown ? Self.longest : Self.shortest) ? .fetch : .use
    }

    /// They were asked for, and came.
    public mutating func succeeded(now: Instant) { (fetchedAt, failedAt) = (now, nil) }

    /// They were asked for, and did not come; the ones known before go on to count.
    public mutating func failed(now: Instant) { failedAt = now }
}

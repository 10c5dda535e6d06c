public import Kernel

/// When a user was on a premium plan, as it was known at each instant.
///
/// An entry holds from the instant it was recorded: what was decided before keeps the plan of before, however late news arrives.
public struct PlanHistory: Hashable, Sendable {
    /// What was known from `since` on.
    public struct Entry: Hashable, Sendable {
        public let since: Instant
        public let isPremium: Bool
        /// The end of the premium plan, excluded; nil: none is known.
        public let until: Instant?

        public init(since: Instant, isPremium: Bool, until: Instant?) {
            (self.since, self.isPremium, self.until) = (since, isPremium, until)
        }
    }

    /// In time order.
    public private(set) var entries: [Entry]

    /// A history from its entries, in any order; of two for one instant the later in the list wins. None: always on the free plan.
    public init(_ entries: [Entry] = []) { self.entries = entries.sorted { $0.since < $1.since } }

    /// The plan is another from `instant` on. News older than what is known is ignored.
    public mutating func change(isPremium: Bool, until: Instant?, at instant: Instant) {
        guard entries.last.map({ $0.since <= instant }) ?? true else { return }
        entries.append(Entry(since: instant, isPremium: isPremium, until: until))
    }

    /// Whether the user was on a premium plan at `instant`.
    public func isPremium(at instant: Instant) -> Bool {
        guard let entry = entries.last(where: { $0.since <= instant }), entry.isPremium else { return false }
        return entry.until.map { instant < $0 } ?? true
    }
}

/// Whether a gateway that starts knows enough to listen: a request that it can answer in a second must not be refused now. Pure: what is
/// seen in, a decision out.
struct Readiness {
    /// A service that is to be found answers well before this time, even on a busy machine; one that does not is away.
    static let settling = Duration.seconds(2)

    /// What a gateway sees of the others.
    struct View: Sendable {
        var isConnected: Bool
        /// Signing keys and all revocations are known.
        var canJudgeTokens: Bool
        /// Services whose routes are installed.
        var known: Set<String>
        /// Services that answer.
        var answering: Set<String>
    }

    private let expected: Set<String>
    private var known: Set<String> = []
    private var changed: ContinuousClock.Instant

    /// - Parameters:
    ///   - expected: names of all services.
    ///   - now: when the search for them began.
    init(expecting expected: Set<String>, now: ContinuousClock.Instant) {
        self.expected = expected
        changed = now
    }

    /// Whether to listen: every service's routes are known, or those of all that answer and no other has appeared for a while.
    mutating func isReached(_ view: View, now: ContinuousClock.Instant) -> Bool {
        let found = view.known.intersection(expected)
        if found != known { (known, changed) = (found, now) }
        guard view.isConnected, view.canJudgeTokens else { return false }
        if found == expected { return true }
        return view.answering.intersection(expected).isSubset(of: found) && now - changed >= Self.settling
    }
}

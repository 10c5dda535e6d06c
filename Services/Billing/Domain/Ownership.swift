public import Kernel

/// Whose a subscription is (BI-1): of the user of its newest event, unless a `TRANSFER` has moved it since.
public enum Ownership {
    /// One thing that says it.
    public enum Sign: Hashable, Sendable {
        /// An event of the subscription names its user.
        case event(StoreEvent, of: UserID)
        /// All that one user has was moved to another; nil: to a user who is not known here.
        case transfer(id: String, at: Instant, from: UserID, to: UserID?)

        fileprivate var place: (Int64, Int, String) {
            switch self {
            case .event(let event, _): (event.at.microseconds, event.kind.rank, event.id)
            case .transfer(let id, let at, _, _): (at.microseconds, StoreEvent.Kind.transfer.rank, id)
            }
        }
    }

    /// The owner after all signs, given in any order; nil when there is none.
    public static func owner(_ signs: [Sign]) -> UserID? {
        var owner: UserID?
        for sign in signs.sorted(by: { $0.place < $1.place }) {
            switch sign {
            case .event(_, let user): owner = user
            case .transfer(_, _, let from, let to): if owner == from { owner = to }
            }
        }
        return owner
    }
}

/// What became of a pack that was bought once (BI-5).
public enum PackState {
    /// Whether its goods belong to the user: it was bought, and the last word is not a refund.
    public static func isWanted(_ events: some Sequence<StoreEvent>) -> Bool {
        var (isBought, isRefunded) = (false, false)
        for event in events.sorted() where event.isAboutPack {
            switch event.kind {
            case .nonRenewingPurchase: isBought = true
            case .cancellation where event.cancelReason == .refunded: isRefunded = true
            case .refundReversed: isRefunded = false
            default: break
            }
        }
        return isBought && !isRefunded
    }
}

/// The pushes that a user gets on one date of theirs: at most 8 (NO-5), of which some kinds keep one, so that many pushes of friends do not
/// swallow the one that matters.
///
/// A kind that keeps a place takes that first, then an open one. What finds no place is in the log only.
public struct DayPlaces: Hashable, Sendable {
    /// Pushes a date and user.
    public static let most = 8
    /// Places that any kind may take: what the kept ones leave.
    public static let open = most - KeptPlace.allCases.count

    /// Open places taken.
    public private(set) var openTaken: Int
    /// Kept places taken.
    public private(set) var kept: Set<KeptPlace>

    /// - Parameters:
    ///   - openTaken: 0…`open`.
    ///   - bits: the kept places that are taken, as `keptBits` gave them.
    public init(openTaken: Int = 0, keptBits: Int32 = 0) {
        self.openTaken = openTaken
        kept = Set(KeptPlace.allCases.filter { keptBits & $0.rawValue != 0 })
    }

    /// The kept places as bits of a number.
    public var keptBits: Int32 { kept.reduce(0) { $0 | $1.rawValue } }
    /// Pushes counted.
    public var taken: Int { openTaken + kept.count }

    /// Takes a place for a push of this kind. - Returns: false when there is none.
    public mutating func take(for kind: NotificationKind) -> Bool {
        guard !kind.isUncounted else { return true }
        if let place = kind.keptPlace, kept.insert(place).inserted { return true }
        guard openTaken < Self.open else { return false }
        openTaken += 1
        return true
    }
}

/// A place of the day that other kinds leave free.
public enum KeptPlace: Int32, CaseIterable, Hashable, Sendable {
    case streakAtRisk = 1
    case streakBroken = 2
    case dailyWindow = 4
    /// Moderation, exports, receipts and restored accounts.
    case account = 8
}

extension NotificationKind {
    /// Whether it is beside the 8: NO-5 names two; reminders that the user set (HA-18) and the test push are the user's own wish.
    public var isUncounted: Bool {
        switch self {
        case .friendRequest, .nudge, .habitReminder, .test: true
        default: false
        }
    }

    /// The place that is kept for a kind; nil: it takes open ones only.
    public var keptPlace: KeptPlace? {
        switch self {
        case .streakAtRisk, .streakReminder: .streakAtRisk
        case .streakBroken, .repairOffer: .streakBroken
        case .dailyWindow: .dailyWindow
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .accountRestored: .account
        default: nil
        }
    }
}

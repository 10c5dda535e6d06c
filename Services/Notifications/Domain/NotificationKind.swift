/// What a notification is about (NO-1). The numbers are those of the proto and of the table.
public enum NotificationKind: Int32, CaseIterable, Hashable, Sendable {
    case friendRequest = 1
    case friendAccepted = 2
    case friendPosted = 3
    case milestone = 4
    case streakBroken = 5
    case streakRecovered = 6
    case nudge = 7
    case moderationWarning = 8
    case dailyWindow = 9
    case windowClosing = 10
    case streakAtRisk = 11
    case exportReady = 12
    case freezeUsed = 13
    case lastFreeze = 14
    case repairOffer = 15
    case pauseEnded = 16
    case habitReminder = 17
    case streakReminder = 18
    case teamInvitation = 19
    case teamJoined = 20
    case teamAtRisk = 21
    case teamBroken = 22
    case teamMilestone = 23
    case purchaseReceipt = 24
    case reportUpdate = 25
    case test = 26
    case motivation = 27
    case freezeReturned = 28
    case accountRestored = 29

    /// As the API writes it: `friend_request`. For payloads, collapse ids and metrics.
    public var name: String {
        // `camelCase` to `snake_case`: the case names are the API's.
        "\(self)".reduce(into: "") { text, character in
            if character.isUppercase { text += "_" + character.lowercased() } else { text.append(character) }
        }
    }
}

extension NotificationKind {
    /// Whether it only confirms what its reader has just done on a notification: it asks for nothing, and is read when it is written.
    public func isConfirmation(_ wording: Int16) -> Bool { self == .habitReminder && wording != 0 }
}

/// What a notification says besides the name of its actor: stored with it, so that the text can be made in any language, when it is read
/// and when it is pushed.
public struct NotificationValues: Hashable, Sendable {
    /// Which of the kind's wordings; 0 is the usual one. `Wording` has the others.
    public var wording: Int16
    /// Dates of a streak, or its weeks; how often a reminder of a habit was put off before; which word of motivation; streaks with friends of
    /// `accountRestored`; 0 where there is none.
    public var count: Int32
    /// Friends who wait, or streaks at risk, besides the one that is named; friendships of `accountRestored`.
    public var others: Int32
    /// Minutes of `windowClosing`, hours of `streakAtRisk`, `teamAtRisk` and `repairOffer`, freezes left of `freezeUsed` and
    /// `freezeReturned`, open habits of `streakReminder`, circles of `accountRestored`; of its other wordings as these say.
    public var amount: Int32
    /// A prompt, or the name of a habit, team or product; empty where there is none.
    public var subject: String
    /// The emoji of a prompt, or the name of a habit's icon.
    public var emoji: String

    public init(
        wording: Int16 = 0,
        count: Int32 = 0,
        others: Int32 = 0,
        amount: Int32 = 0,
        subject: String = "",
        emoji: String = ""
    ) {
        self.wording = wording
        self.count = count
        self.others = others
        self.amount = amount
        self.subject = subject
        self.emoji = emoji
    }
}

/// The wordings of kinds that have several.
public enum Wording {
    /// Of `dailyWindow` and `windowClosing`: the reader has chosen the hour of the window.
    public static let hourIsChosen: Int16 = 1
    /// Of `friendPosted`: the snap made the date whole.
    public static let dateCompleted: Int16 = 1
    /// Of `milestone`: the count earns a recovery token.
    public static let earnsToken: Int16 = 1
    /// Of `milestone`: the count is not celebrated, but earns a recovery token.
    public static let tokenOnly: Int16 = 2
    /// Of `streakBroken`: no token can save it.
    public static let isFinal: Int16 = 1
    /// Of `streakBroken`: the reader has no token, and can get one. Never stored: it is what entries without a wording say while that is so.
    public static let hasNoToken: Int16 = 2
    /// Of `streakBroken`: the streak has ended, because the other account was deleted (AU-7). No user is named or to blame.
    public static let accountDeleted: Int16 = 3
    /// Of `accountRestored`: what has not come back is not known.
    public static let endedUnknown: Int16 = 1
    /// Of `streakRecovered`: by the friend's token, or the reader's; for a date in the past, or in advance.
    public static let byFriend: Int16 = 1
    public static let byReader: Int16 = 2
    public static let byFriendInAdvance: Int16 = 3
    public static let byReaderInAdvance: Int16 = 4
    /// Of `reportUpdate`: the moderators saw no reason to act.
    public static let noAction: Int16 = 1
    /// Of `reportUpdate`: the reader's own post was hidden, and is shown again.
    public static let postRestored: Int16 = 2
    /// Of `moderationWarning`: a post was removed.
    public static let postRemoved: Int16 = 1

    /// Of `milestone`, `streakAtRisk`, `streakBroken` and `streakRecovered`: about a streak of the reader's own. `subject` is its kind as
    /// the API writes it, `check_in` or `daily_snap`.
    public static let solo: Int16 = 10
    /// Of `streakRecovered`: an insurance kept it, or a shield.
    public static let soloProtected: Int16 = 11
    public static let soloShielded: Int16 = 12
    /// Of `lastFreeze`: the last one is about to be spent, because the reader has not checked in.
    public static let lastFreezeAhead: Int16 = 1
    /// Of `lastFreeze`: it was spent.
    public static let noFreezeLeft: Int16 = 2
    /// Of `streakReminder`: the check-in that the reader has not made, by the time of the day.
    public static let checkInMorning: Int16 = 10
    public static let checkInAfternoon: Int16 = 11
    public static let checkInEvening: Int16 = 12
    /// A freeze will be spent; `amount` is how many there are.
    public static let freezeAhead: Int16 = 13
    /// A milestone is near; `amount` is its count.
    public static let milestoneInTwoDays: Int16 = 14
    public static let milestoneTomorrow: Int16 = 15
    public static let milestoneToday: Int16 = 16
    /// After a break; `count` is what was lost, `amount` the longest there was.
    public static let firstDayAfterBreak: Int16 = 17
    public static let secondDayAfterBreak: Int16 = 18
    public static let seventhDayAfterBreak: Int16 = 19
    /// Of `streakReminder`: a shield will be spent.
    public static let shieldAhead: Int16 = 20
    /// Of `milestone`: of a habit, whose name is `subject`; its count is of due dates, or of weeks (HA-11).
    public static let habitDays: Int16 = 20
    public static let habitWeeks: Int16 = 21
    /// Of `milestone`: what the reader has earned once, for ever: `subject` is its name, of an achievement its id; `emoji` is the icon of
    /// a badge.
    public static let badge: Int16 = 30
    public static let unlock: Int16 = 31
    public static let achievement: Int16 = 32
    /// Of `habitReminder`: confirms what was tapped on it.
    public static let habitCompleted: Int16 = 1
    public static let habitSnoozed: Int16 = 2
    /// Of `teamAtRisk`: the date is over, and a grace runs (TS-4).
    public static let teamGrace: Int16 = 1
    /// Of `teamMilestone`: a break was undone.
    public static let teamRestored: Int16 = 1
    /// Of `teamBroken`: what was done in time and arrives late still saves it; `amount` is for how many hours.
    public static let teamSavable: Int16 = 1
}

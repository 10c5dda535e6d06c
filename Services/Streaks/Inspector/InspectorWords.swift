internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// Verdicts and effects in words, for administrators.
struct InspectorWords: Sendable {
    /// Of the streak.
    let kind: StreakKind
    /// Usernames, as far as they are known.
    let names: [UserID: String]

    private func name(_ user: UserID?) -> String? { user.map { names[$0].flatMap { $0.isEmpty ? nil : $0 } ?? "\($0)" } }

    /// The verdict of a reason.
    func verdict(_ reason: DayReason) -> DayVerdict {
        switch reason {
        case .completed: .completed
        case .open: .open
        case .grace: .grace
        case .nothingAtStake: .nothingAtStake
        case .missed: .missed
        case .frozen: .frozen
        case .covered(let recovery):
            switch recovery.kind {
            case .token: .recovered
            case .repair: .repaired
            case .cover: .covered
            case .fill: .filled
            }
        case .filled: .filled
        case .protected: .protected
        case .free: .free
        case .paused, .archived: .paused
        case .skipped: .skipped
        case .notScheduled: .notScheduled
        case .outage: .outage
        case .hardlySeen: .hardlySeen
        case .tooFewMembers, .cutWeek: .excused
        case .partOfWeek: .partOfWeek
        }
    }

    /// A reason as a sentence.
    func sentence(_ reason: DayReason) -> String {
        switch reason {
        case .completed(let posted, let needed): completed(posted, of: needed)
        case .open: "The date is not over for everyone, and not complete yet."
        case .grace(let until): "The date is over and incomplete; a grace keeps it open until \(until)."
        case .nothingAtStake: "The count was 0 or the streak did not run: nothing could break."
        case .missed(let user, let count, let isDecision): missed(by: user, count: count, isDecision: isDecision)
        case .frozen(let byHand): byHand ? "Missed; the freeze that was set for the date kept it." : "Missed; a freeze kept it."
        case .covered(let recovery): covered(recovery)
        case .filled: "Missed; a time machine filled the date, and it counts."
        case .protected(.insurance): "Missed; an insurance kept the streak."
        case .protected(.shield): "Missed; a shield kept the streak."
        case .free: "Missed; it is one of the month's free dates."
        case .paused: "The streak was paused on the date."
        case .archived: "The habit was in the archive on the date."
        case .skipped: "The person skipped the date."
        case .notScheduled: "Nothing was due on the date."
        case .outage: "Excused: the service could not be reached for too long while the date was shown."
        case .hardlySeen: "Excused: a member's clock showed the date for less than 12 hours."
        case .tooFewMembers: "Excused: the circle had too few members on the date."
        case .cutWeek: "Excused: the start or a change of the habit cut the week."
        case .partOfWeek(let end): "The week is judged as a whole: \(end) has the verdict."
        }
    }

    private func completed(_ posted: Int, of needed: Int) -> String {
        switch kind {
        case .mutual where posted == 2: "Both posted."
        case .mutual, .team: "Needed: \(needed) of the members. Done by \(posted)."
        case .checkIn: "Checked in."
        case .dailySnap: "Posted a photo."
        case .habit: "The habit was done."
        case .recipeCreation, .challengeCompletion, .socialShare, .healthyEating: "Done."
        }
    }

    private func missed(by user: UserID?, count: Int, isDecision: Bool) -> String {
        let end = "the streak broke with a count of \(count)."
        if isDecision { return "A moderator's decision about \(name(user) ?? "a member"): \(end)" }
        let what =
            switch kind {
            case .mutual, .dailySnap: "post"
            case .checkIn, .team: "check in"
            case .recipeCreation, .challengeCompletion, .socialShare, .healthyEating, .habit: "do it"
            }
        if let name = name(user) { return "\(name) did not \(what): \(end)" }
        return "\(kind == .mutual ? "Neither" : "Too few members") did \(what): \(end)"
    }

    private func covered(_ recovery: StreakLedger.Recovery) -> String {
        let by = name(recovery.user).map { " by \($0)" } ?? ""
        let what =
            switch recovery.kind {
            case .token: "A recovery token used\(by)"
            case .repair: "A repair\(by)"
            case .cover: "A cover applied by the service"
            case .fill: "A time machine used\(by)"
            }
        return "Missed. \(what) at \(recovery.at) keeps \(recovery.from) to \(max(recovery.from, recovery.through))."
    }

    /// An effect as a sentence.
    func sentence(_ effect: StreakEffect) -> String {
        switch effect {
        case .completed(_, let count, _): "The date was completed; the count is \(count)."
        case .milestone(let count, _, _, let isFirst):
            "The count of \(count) was reached: a milestone\(isFirst ? ", for the first time" : "")."
        case .tokenEarned(let count, _, _): "The count of \(count) earned every member a recovery token."
        case .broken(_, let at, _, let count): "The streak broke at \(at) with a count of \(count)."
        case .restored: "The break was undone."
        case .freezeSpent(_, let count, let left, _): "A freeze was spent; the count is \(count), freezes left: \(left)."
        case .freezeReturned: "The freeze came back."
        case .freezeEarned(let count, _, _, _, let freezes, let granted):
            "The count of \(count) earned \(freezes) freezes; \(granted) came into hand."
        case .freeDateUsed(_, let left): "A free date was used; left this month: \(left)."
        case .freeDateReturned: "The free date came back."
        case .recovered(_, let through, let user, let at):
            "A recovery\(name(user).map { " by \($0)" } ?? "") at \(at) covers the dates through \(through)."
        case .tokenReturned(_, let user, _): "The recovery token was not needed and came back to \(name(user) ?? "its user")."
        case .repaired(_, let through, let user, _, let at):
            "A repair\(name(user).map { " by \($0)" } ?? "") at \(at) covers the dates through \(through)."
        case .filled(_, let count, _): "A time machine filled the date; the count is \(count)."
        case .coverReturned(_, let kind, let user, _, _):
            "The \(kind == .fill ? "time machine" : "repair") was not needed and came back to \(name(user) ?? "its user")."
        case .protectionSpent(_, let kind, _): "The \(kind) was spent."
        case .protectionReturned(_, let kind, _): "The \(kind) was not needed and is held again."
        case .paused(_, let until, _): "A pause begins; \(until) counts again."
        case .pauseEnded: "The pause is over: the date counts again."
        case .graceStarted(_, let until): "The date was over and incomplete; a grace ran until \(until)."
        case .ended(let at): "The streak ended at \(at)."
        }
    }
}

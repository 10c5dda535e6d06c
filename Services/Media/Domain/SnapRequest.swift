public import Kernel

/// Which streaks a snap is for (PH-1): ids repeated or comma-separated, or `all`.
public enum SnapTarget: Hashable, Sendable {
    /// Every active streak of the author.
    case all
    /// These, each once, in the order they were named.
    case streaks([StreakID])

    /// From the request's field.
    ///
    /// - Throws: `VALIDATION_ERROR` naming each element that is neither ids nor `all`.
    public init(_ texts: [String]) throws(ServiceError) {
        var ids: [StreakID] = []
        var isAll = false
        var wrong: [ServiceError.Detail] = []
        for (index, text) in texts.enumerated() {
            for part in text.split(separator: ",") {
                let word = part.filter { $0 != " " }
                guard word != "all" else {
                    isAll = true
                    continue
                }
                do throws(ServiceError) {
                    let id = try StreakID(parsing: word, field: "streak_ids[\(index)]")
                    if !ids.contains(id) { ids.append(id) }
                } catch {
                    wrong += error.details
                    break
                }
            }
        }
        guard wrong.isEmpty else { throw .validation(wrong) }
        if isAll {
            self = .all
            return
        }
        guard !ids.isEmpty else { throw .validation(field: "streak_ids", "must name at least one streak, or all") }
        self = .streaks(ids)
    }
}

/// What becomes of a snap that no streak takes (PH-1).
public enum SnapRefusal {
    /// One error for all refusals: the reason when they agree, one detail a streak.
    ///
    /// - Parameter refusals: streak and reason; empty when the author has no active streak at all.
    public static func error(_ refusals: [(streak: StreakID, reason: String)]) -> ServiceError {
        guard let first = refusals.first else {
            return ServiceError(.failedPrecondition, "NO_ACTIVE_STREAKS", "You have no active streak to post to.")
        }
        let reasons = Set(refusals.map(\.reason))
        let details = refusals.map { ServiceError.Detail(field: "streak_ids", message: "\($0.streak): \($0.reason)") }
        guard reasons.count == 1 else {
            return ServiceError(.failedPrecondition, "SNAP_REFUSED", "No streak takes this snap.", details: details)
        }
        switch first.reason {
        case "ALREADY_POSTED":
            return ServiceError(.alreadyExists, first.reason, "You have already posted for this date.", details: details)
        case "NOT_A_MEMBER":
            return ServiceError(.notFound, "NOT_FOUND", "There is no such streak.", details: details)
        case "OUTSIDE_SNAP_WINDOW":
            return ServiceError(
                .failedPrecondition,
                first.reason,
                "Your snap window is closed; it takes snaps from 30 minutes before it opens to 30 minutes after it closes.",
                details: details
            )
        default:
            return ServiceError(.failedPrecondition, first.reason, "This streak takes no snap now.", details: details)
        }
    }
}

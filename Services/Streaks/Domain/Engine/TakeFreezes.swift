import Kernel

extension StreakLedger {
    /// Freezes of a purchase that was refunded leave the hand (BI-5): a grant of fewer than none, dated now. Those that were spent stay spent.
    mutating func takeFreezes(_ count: Int, _ id: OperationID, _ policy: StreakPolicy, _ state: StreakState) throws(ServiceError)
    {
        guard !freezeGrants.contains(where: { $0.id == id }) else { return }
        guard policy.freezes != nil, endedAt == nil else { throw .notActive }
        guard count > 0 else { throw .validation(field: "quantity", "must be positive") }
        guard count <= state.freezesLeft else {
            throw ServiceError(.failedPrecondition, "NO_FREEZES_AVAILABLE", "You have no freezes left.")
        }
        freezeGrants.append(FreezeGrant(at: state.asOf, count: -count, id: id))
    }
}

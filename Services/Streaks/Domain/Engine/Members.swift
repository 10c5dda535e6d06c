import Kernel

extension StreakLedger {
    /// TS-4: counts from the date after that on which they joined, whenever that is received.
    mutating func join(_ user: UserID, _ zones: ZoneHistory, at joined: Instant, _ policy: StreakPolicy, _ state: StreakState)
        throws(ServiceError)
    {
        guard endedAt == nil else { throw .notActive }
        let known = participant(user)
        guard known.map({ !$0.isPresent }) ?? true else { return }
        // One who comes again comes after they left.
        let joined = max(joined, known?.stays.last?.left ?? joined)
        try late(joined, policy, state) { ledger, instant in
            guard let index = ledger.participants.firstIndex(where: { $0.user == user }) else {
                ledger.participants.append(Participant(user, zones: zones, stays: [Stay(joined: instant)]))
                ledger.participants.sort { $0.user < $1.user }
                return
            }
            ledger.participants[index].stays.append(Stay(joined: instant))
        }
    }

    /// TS-4: is missed by no one on the date on which they left, whenever that is received.
    mutating func leave(_ user: UserID, at left: Instant, _ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        guard let index = participants.firstIndex(where: { $0.user == user }) else { throw .notAMember }
        guard participants[index].isPresent, let last = participants[index].stays.indices.last else { return }
        let left = max(left, participants[index].stays[last].joined ?? left)
        try late(left, policy, state) { ledger, instant in ledger.participants[index].stays[last].left = instant }
    }
}

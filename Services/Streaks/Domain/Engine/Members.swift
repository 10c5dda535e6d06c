import Kernel

extension StreakLedger {
    /// TS-4: counts from the next date.
    mutating func join(_ user: UserID, _ zones: ZoneHistory, at now: Instant) throws(ServiceError) {
        guard endedAt == nil else { throw .notActive }
        guard let index = participants.firstIndex(where: { $0.user == user }) else {
            participants.append(Participant(user, zones: zones, stays: [Stay(joined: now)]))
            participants.sort { $0.user < $1.user }
            return
        }
        guard !participants[index].isPresent else { return }
        participants[index].stays.append(Stay(joined: now))
    }

    /// TS-4.
    mutating func leave(_ user: UserID, at now: Instant) throws(ServiceError) {
        guard let index = participants.firstIndex(where: { $0.user == user }) else { throw .notAMember }
        guard participants[index].isPresent, let last = participants[index].stays.indices.last else { return }
        participants[index].stays[last].left = now
    }
}

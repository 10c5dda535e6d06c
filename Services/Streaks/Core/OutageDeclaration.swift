package import Database
package import Kernel

/// A time in which no user could be expected to post (SD-7), as it is declared by the command of an operator and by administrators, also long
/// afterwards. Running replicas carry it out within seconds (`OutageJob`).
package struct OutageDeclaration: Sendable {
    /// Why a time cannot be an outage.
    package enum Mistake: Error {
        /// It ends before it begins, or at once.
        case isEmpty
        /// It is longer than `longest`.
        case isTooLong
    }

    /// A longer outage is most likely a mistyped date.
    static let longest = Interval.days(14)

    let from: Instant
    let until: Instant
    let reason: String

    /// - Parameter reason: for who reads the list later; may be empty.
    package init(from: Instant, until: Instant, reason: String) throws(Mistake) {
        guard from < until else { throw .isEmpty }
        guard until - from <= Self.longest else { throw .isTooLong }
        (self.from, self.until, self.reason) = (from, until, reason)
    }

    /// Records the outage; the same one again changes nothing.
    ///
    /// - Parameter id: of the outage if it is new.
    package func declare(as id: OutageID, _ sql: some QueryExecutor) async throws -> (outage: DeclaredOutage, isNew: Bool) {
        let isNew = try await OutageRepository.insert(id, from: from, until: until, reason: reason, sql)
        if !isNew, let known = try await OutageRepository.find(from: from, until: until, sql) { return (known, false) }
        return (DeclaredOutage(id: id, from: from, until: until, reason: reason), true)
    }
}

/// A declared outage with how far it has been carried out.
package struct DeclaredOutage: Sendable {
    package enum Standing: String, Sendable {
        /// No ledger has it yet.
        case waiting
        /// It counts; what it broke is being undone.
        case underWay = "under way"
        case done
    }

    package let id: OutageID
    package let from: Instant
    package let until: Instant
    /// Empty when none was given.
    package let reason: String
    package var standing = Standing.waiting
    /// Streaks that were settled anew because of it.
    package var settledStreaks: Int32 = 0
}

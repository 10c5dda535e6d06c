@testable import Database

/// The outcomes that writers got for what they wrote.
actor Ledger {
    enum Kind: CaseIterable {
        case single, pair
        /// In a session, as a single statement and as a script.
        case session, script
    }

    private(set) var acknowledged: Set<Int> = []
    private(set) var unknown: Set<Int> = []
    private(set) var failed: Set<Int> = []
    private(set) var surprises: [String] = []
    /// How long a single statement took, at most.
    private(set) var longestSingle = Duration.zero

    /// How many writes have ended.
    var answered: Int { acknowledged.count + unknown.count + failed.count + surprises.count }

    func write(_ number: Int, _ kind: Kind, to database: Database) async {
        do {
            switch kind {
            case .single:
                let start = ContinuousClock.now
                defer { longestSingle = max(longestSingle, ContinuousClock.now - start) }
                try await database.execute("INSERT INTO single VALUES (\(number))")
            case .pair:
                try await database.transaction { sql in
                    try await sql.execute("INSERT INTO pair VALUES (\(number), 1)")
                    try await sql.execute("UPDATE pair SET half = 2 WHERE id = \(number)")
                }
            case .session:
                _ = try await database.withSession { try await $0.execute("INSERT INTO single VALUES (\(number))") }
            case .script:
                try await database.withSession { try await $0.run(script: "SELECT 1; INSERT INTO single VALUES (\(number))") }
            }
            acknowledged.insert(number)
        } catch let error as DatabaseError where error.code == .outcomeUnknown {
            unknown.insert(number)
        } catch let error as DatabaseError where error.isConnectionFailure {
            failed.insert(number)
        } catch is CancellationError {
            failed.insert(number)
        } catch {
            surprises.append("\(error)")
        }
    }
}

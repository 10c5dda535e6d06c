public import Bus
public import Database

extension StreamConfiguration {
    /// Makes the stream, or changes it; of the replicas that share `database`, one at a time: nats-server 2.9 tells one of several that make
    /// a stream at once that another stream has its subjects, or never answers anybody again.
    ///
    /// - Throws: what `JetStream.ensureStream` throws; `DatabaseError` when the database is away.
    public func ensure(_ jetStream: JetStream, oneAtATimeBy database: Database) async throws {
        // As long as many others may take while the broker does not answer.
        try await database.withSession(statementTimeout: .minutes(5)) { session in
            try await session.execute(
                "SELECT pg_advisory_lock(hashtextextended(\("streaksnap stream " + database.schema + "." + name), 0))"
            )
            try await jetStream.ensureStream(self)
        }
    }
}

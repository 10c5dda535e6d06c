internal import Database
internal import Kernel

extension EventConsumer {
    /// Tries of one batch that fail for reasons that may pass before it is halved: a smaller one may not fail by them, by its length for
    /// example.
    private static let mostTries = 8

    /// What became of a batch.
    private enum BatchEnd {
        case done
        /// One of its events fails.
        case failed
        /// This replica's turn has ended.
        case lost
    }

    /// Events that share a transaction. When one of them fails it is found by halving: only that one is put aside, and the halves are done in
    /// their order, so that what comes after it in its aggregate finds it waiting.
    ///
    /// - Parameter apply: of their common batch.
    /// - Returns: the places of those that were handled, the first ones.
    func consumeTogether(
        _ events: [WaitingEvent],
        _ turn: ConsumerTurn,
        _ apply: @escaping @Sendable ([any Sendable], UnitOfWork) async throws -> Void
    ) async -> [Int] {
        // The next one is the last.
        var parts = [events[...]]
        var done: [Int] = []
        while let part = parts.popLast() {
            if part.count == 1, let waiting = part.first {
                // Alone it is a batch of one, that is put aside when it fails.
                guard await consume(waiting.event, with: waiting.handler, turn) else { return done }
                done.append(waiting.sequence)
                continue
            }
            switch await consumeAtOnce(Array(part), turn, apply) {
            case .done: done += part.map(\.sequence)
            case .lost: return done
            case .failed:
                let middle = part.startIndex + part.count / 2
                parts.append(part[middle...])
                parts.append(part[..<middle])
            }
        }
        return done
    }

    private func consumeAtOnce(
        _ events: [WaitingEvent],
        _ turn: ConsumerTurn,
        _ apply: @escaping @Sendable ([any Sendable], UnitOfWork) async throws -> Void
    ) async -> BatchEnd {
        var tries = 0
        while turn.goesOn, !Task.isCancelled {
            do {
                if try await attempt(events, turn.lease, apply) { return .done }
                turn.end()
            } catch {
                tries += 1
                let mayPass = (error as? DatabaseError)?.mayPass ?? (error is CancellationError)
                guard mayPass, tries < Self.mostTries else {
                    logger.debug("a batch of events is halved", metadata: ["events": "\(events.count)", "error": "\(error)"])
                    return .failed
                }
                logger.warning("a batch of events waits", metadata: ["events": "\(events.count)", "error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(min(1_000, 20 << min(tries, 6))))
            }
        }
        return .lost
    }

    /// One transaction: the inbox, and the effects of all events that are new and do not wait behind an earlier one of their aggregate.
    ///
    /// - Returns: false when another replica reads now.
    private func attempt(
        _ events: [WaitingEvent],
        _ lease: ConsumerLease,
        _ apply: @escaping @Sendable ([any Sendable], UnitOfWork) async throws -> Void
    ) async throws -> Bool {
        guard let first = events.first?.event else { return true }
        return try await work.run(trace: first.trace, requestID: first.requestID) { [self] work in
            guard var left = try await lease.enter(events.map(\.event), work.sql) else { return false }
            // One that comes twice counts once.
            let new = events.filter { left.remove($0.event.id) != nil }
            let held = try await waitingAggregates(among: new, work.sql)
            try await enqueue(
                new.map(\.event).filter { held.contains($0.aggregate) },
                attempts: 0,
                error: "waits for an earlier event of its aggregate",
                work.sql
            )
            var items: [any Sendable] = []
            for waiting in new where !held.contains(waiting.event.aggregate) {
                items += try waiting.handler.batch?.items(waiting.event, work.now) ?? []
            }
            if !items.isEmpty { try await apply(items, work) }
            return true
        }
    }

    /// Aggregates of which earlier events wait.
    private func waitingAggregates(among events: [WaitingEvent], _ sql: Transaction) async throws -> Set<String> {
        guard !events.isEmpty else { return [] }
        let aggregates = Array(Set(events.map(\.event.aggregate)))
        let rows = try await sql.query(
            "SELECT DISTINCT aggregate FROM event_retry WHERE feature = \(feature) AND aggregate = ANY(\(aggregates))"
        )
        return Set(try rows.map { try $0.decode(as: String.self) })
    }
}

import Glibc
import Kernel
import Loop
import TestSupport
import Testing

@testable import Database

/// A reactor without its thread: the test takes the loop's turns itself, so that a connection is lost at an exact moment. Its clock stands
/// still until `pass`. Only one task at a time may use it.
final class HandDrivenReactor: @unchecked Sendable {
    /// How much of its death libpq knows.
    enum Death: CaseIterable {
        /// Nothing: the next write fails unnoticed, the one after it fails.
        case unnoticed
        /// Everything: each call fails. The loop does not know yet.
        case known
    }

    let reactor: Reactor
    /// Every job submitted so far.
    private(set) var jobs: [Job] = []

    /// - Parameter adjust: changes settings; by default one connection, 10 s for waiting and 60 s for running.
    init(_ server: PostgresServer, adjust: (inout DatabaseConfiguration) -> Void = { _ in }) throws {
        var configuration = DatabaseConfiguration(
            connectionString: server.connectionString,
            schema: PostgresServer.freshSchemaName(),
            applicationName: "test",
            poolSize: 1,
            statementTimeout: .seconds(60)
        )
        configuration.acquireTimeout = .seconds(10)
        // Its time passes in leaps, in which no server could say anything.
        configuration.silenceBeforeProbe = .seconds(1_000_000)
        adjust(&configuration)
        reactor = try Reactor(configuration, logger: PostgresServer.silence, observer: nil)
        reactor.now = monotonicNanoseconds()
    }

    /// The jobs whose callers wait.
    var unanswered: [Job] { jobs.filter(\.isUnanswered) }

    /// The first connection that is up.
    var connection: Connection {
        get throws { try #require(reactor.connections.lazy.compactMap(\.self).first) }
    }

    /// Lets time pass for the reactor, and looks at what waits.
    func pass(_ time: Interval) {
        reactor.now += time.nanoseconds
        reactor.lookAtWaits()
    }

    /// Connects what is missing.
    func connect() throws {
        while reactor.recovery.nextAttempt(now: .max) != nil {
            reactor.obey(.connected(try reactor.connector.connect().get()))
        }
    }

    /// Gives the reactor a job, as its loop would take it from the mailbox; what its caller gets is the task's value.
    func submit(_ job: Job) async -> Task<ResultBox, any Error> {
        jobs.append(job)
        let task = Task { try await reactor.perform(job) }
        var isThere = false
        while !isThere {
            try? await Task.sleep(for: .microseconds(50))
            for command in reactor.mailbox.take() {
                if case .submit(let next) = command, next === job { isThere = true }
                reactor.obey(command)
            }
        }
        return task
    }

    func submit(_ text: String, _ role: Job.Role = .statement, on lease: Lease? = nil) async -> Task<ResultBox, any Error> {
        await submit(Job(text: text, role: role, lease: lease))
    }

    func transaction() -> Lease {
        Lease(.transaction, prologue: "BEGIN", statementLimit: reactor.configuration.statementTimeout.nanoseconds)
    }

    func session() -> Lease {
        Lease(.session, prologue: nil, statementLimit: reactor.configuration.statementTimeout.nanoseconds)
    }

    /// Ends a connection without the loop's knowledge.
    func kill(_ connection: Connection, _ death: Death) {
        // libpq has closed its socket otherwise, and the number may be another's by now.
        guard connection.isUp else { return }
        shutdown(connection.socket, Int32(SHUT_RDWR))
        if death == .known { while connection.read() {} }
    }

    /// One turn of the loop with what the sockets have by then.
    func turn(waitingAtMost milliseconds: Int32 = 0) {
        let connections = reactor.connections.compactMap(\.self)
        var entries = connections.map { pollfd(fd: $0.isUp ? $0.socket : -1, events: Int16(POLLIN), revents: 0) }
        poll(&entries, nfds_t(entries.count), connections.allSatisfy(\.isUp) ? milliseconds : 0)
        for (connection, entry) in zip(connections, entries) where entry.revents != 0 || !connection.isUp {
            reactor.answer(on: connection)
        }
        for command in reactor.mailbox.take() { reactor.obey(command) }
        reactor.dispatch()
        reactor.flush()
        reactor.lookAtWaits()
    }

    /// Takes turns, with connections made again, until no job waits for an answer; fails when that takes too long.
    ///
    /// - Parameter count: Looks only at that many, the last submitted.
    func untilAllAreAnswered(last count: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let awaited = jobs.suffix(count ?? jobs.count)
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while awaited.contains(where: \.isUnanswered), ContinuousClock.now < end {
            try connect()
            turn(waitingAtMost: 1)
            await Task.yield()
        }
        let left = awaited.filter(\.isUnanswered)
        #expect(left.isEmpty, "\(left.map { "\($0.text.prefix(40)): \($0.place)" })", sourceLocation: sourceLocation)
        // On a failure its caller must not hang as well.
        for job in left { reactor.finish(job, .failure(CancellationError())) }
    }

    /// Jobs whose callers wait that are not in exactly one place, and what is in a place and not in the list of unanswered jobs.
    func misplaced() -> [String] {
        var places: [ObjectIdentifier: Int] = [:]
        func found(_ jobs: [Job]) {
            for job in jobs.flatMap({ $0.lookups.isEmpty ? [$0] : $0.lookups }) where job.isUnanswered {
                places[ObjectIdentifier(job), default: 0] += 1
            }
        }
        found(reactor.pending.elements.filter(\.isPending))
        for lease in reactor.leaseQueue.elements { found(lease.parked) }
        for case let connection? in reactor.connections {
            found(connection.held.elements + connection.pipeline.jobs + (connection.script.map { [$0] } ?? []))
        }
        let waiting = unanswered
        let listed = Set(reactor.unanswered.jobs.map(ObjectIdentifier.init))
        return waiting.filter { places[ObjectIdentifier($0)] != 1 || !listed.contains(ObjectIdentifier($0)) }
            .map { "\($0.role) \($0.place)" }
            + (listed.count == waiting.count ? [] : ["\(listed.count) listed, \(waiting.count) wait"])
    }
}

import Bus
import Database
import Foundation
import Kernel
import Logging
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

@Suite("The metrics page", .timeLimit(.minutes(10)))
struct PrometheusTests {
    private func rpc(_ fate: ObservedRPC.Fate, _ code: ServiceError.Code?) -> ObservedRPC {
        ObservedRPC(
            method: "rpc.a.v1.B",
            span: .random(),
            parent: nil,
            requestID: "r",
            fate: fate,
            code: code,
            duration: .milliseconds(3)
        )
    }

    @Test func `is understood by Prometheus's own parser, whatever labels hold`() async throws {
        let metrics = Metrics()
        let awkward = "a\"b\\c\nd,e=}{ é"
        metrics.labelled([("service", awkward)]).counter("x_total", [("path", awkward)], help: "A \\ and\na line.").increment(
            by: 7
        )
        metrics.measured("tiny", help: "Small.") { 1.5e-9 }
        metrics.measured("huge", help: "Large.") { 1e300 }
        metrics.measured("none", help: "Left out.") { nil }
        let samples = try await PrometheusParser.parse(metrics.text())
        #expect(samples.first { $0.name == "x_total" }?.labels == ["service": awkward, "path": awkward])
        #expect(samples.first { $0.name == "x_total" }?.value == 7)
        #expect(samples.first { $0.name == "tiny" }?.value == 1.5e-9)
        #expect(samples.first { $0.name == "huge" }?.value == 1e300)
        #expect(!samples.contains { $0.name == "none" })
    }

    @Test func `shows requests by method and outcome, those in flight, and those refused`() async throws {
        let metrics = Metrics()
        let observer = MetricsObserver(metrics.labelled([("service", "a")]), role: "server")
        for _ in 0..<3 { observer.started(method: "rpc.a.v1.B") }
        observer.ended(rpc(.ran, nil))
        observer.ended(rpc(.ran, .notFound))
        observer.ended(rpc(.overloaded, .unavailable))
        observer.ended(rpc(.late, .deadlineExceeded))
        let samples = try await PrometheusParser.parse(metrics.text())
        func value(_ name: String, _ labels: [String: String]) -> Double? {
            samples.first { $0.name == name && $0.labels.merging(labels) { $1 } == $0.labels }?.value
        }
        #expect(value("streaksnap_rpc_in_flight", ["role": "server", "service": "a"]) == 1)
        #expect(value("streaksnap_rpc_total", ["code": "ok"]) == 1)
        #expect(value("streaksnap_rpc_total", ["code": "notFound"]) == 1)
        #expect(value("streaksnap_rpc_total", ["code": "unavailable"]) == 1)
        #expect(value("streaksnap_rpc_refused_total", ["reason": "overloaded"]) == 1)
        #expect(value("streaksnap_rpc_refused_total", ["reason": "late"]) == 1)
        #expect(value("streaksnap_rpc_duration_seconds_count", [:]) == 2, "what did not run took no time")
    }

    @Test func `shows the process's memory, time, files and start as Prometheus's clients do`() async throws {
        let metrics = Metrics()
        ProcessMetrics.add(to: metrics)
        let samples = try await PrometheusParser.parse(metrics.text())
        func value(_ name: String) throws -> Double { try #require(samples.first { $0.name == name }?.value, "\(name)") }
        #expect(try value("process_resident_memory_bytes") > 5e6)
        #expect(try value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"))
        #expect(try value("process_cpu_seconds_total") > 0)
        let now = Double(SystemClock.now().seconds)
        #expect(try value("process_start_time_seconds") <= now + 1)
        #expect(try value("process_start_time_seconds") > now - 7_200)
        #expect(try value("process_max_fds") >= value("process_open_fds"))
        // Other tests of this process open and close files meanwhile: certain is only that those held here are counted.
        let held = try (0..<200).map { _ in try #require(FileHandle(forReadingAtPath: "/dev/null")) }
        let open = try await PrometheusParser.parse(metrics.text()).first { $0.name == "process_open_fds" }?.value
        #expect(try #require(open) >= 200)
        withExtendedLifetime(held) {}
    }

    @Test func `shows how busy the database's pool is, and how long statements take`() async throws {
        let metrics = Metrics()
        let observer = DatabaseMetrics(metrics)
        let server = try await PostgresServer.shared()
        var configuration = DatabaseConfiguration(
            connectionString: server.connectionString,
            schema: PostgresServer.freshSchemaName(),
            poolSize: 3
        )
        // What waits and what runs does so until the page is read.
        PostgresServer.patient(&configuration)
        let database = Database(configuration, logger: PostgresServer.silence, observer: observer)
        observer.watch(database)
        try await database.start()
        try await eventually("all connections are up") { database.health.connections == 3 }
        let long = (0..<4).map { _ in
            Task { try await database.transaction { _ = try await $0.query("SELECT pg_sleep(60)") } }
        }
        // One of three stays for single statements; two transactions run, two wait.
        try await eventually("the pool is busy") { database.health.leased == 2 && database.health.waiting == 2 }
        await #expect(throws: DatabaseError.self) { try await database.query("SELECT 1 / \(0)") }
        try await eventually("the single statement is over") { database.health.busy == 2 }
        let samples = try await PrometheusParser.parse(metrics.text())
        func value(_ name: String, _ label: String? = nil) -> Double? {
            samples.first {
                $0.name == "streaksnap_database_\(name)" && (label == nil || $0.labels.values.contains(label ?? ""))
            }?
            .value
        }
        #expect(value("connections") == 3 && value("connections_busy") == 2 && value("connections_leased") == 2)
        #expect(value("waiting") == 2 && value("connections_lost_total") == 0)
        #expect(value("statement_duration_seconds_count", "statement") == 1)
        #expect(samples.contains { $0.name == "streaksnap_database_errors_total" && $0.value == 1 })
        #expect(samples.first { $0.family == "streaksnap_database_connections_lost" }?.type == "counter")
        for task in long { task.cancel() }
        for task in long { _ = await task.result }
        await database.stop()
    }

    @Test func `shows how late the oldest due row of a job is, also while it cannot be seen`() async throws {
        let metrics = Metrics()
        let clock = ManualClock(Instant(seconds: 1_000))
        let isBroken = Gauge()
        let looks = Counter()
        let job = Job(
            "settlement",
            every: .seconds(60),
            oldestDue: {
                looks.increment()
                if isBroken.current == 1 { throw ServiceError.unavailable() }
                return Instant(seconds: 940)
            }
        ) { _ in 0 }
        let lag = JobLag(
            jobs: [job, Job("plain", every: .seconds(60)) { _ in 0 }],
            clock: clock,
            logger: PostgresServer.silence,
            metrics: metrics,
            interval: .milliseconds(2)
        )
        let running = Task { await lag.run() }
        func shown() async throws -> [Double] {
            try await PrometheusParser.parse(metrics.text()).filter { $0.name == "streaksnap_job_lag_seconds" }.map(\.value)
        }
        try await eventually("it is looked at") { looks.current > 1 }
        #expect(try await shown() == [60])
        clock.set(Instant(seconds: 900))
        #expect(try await shown() == [0], "what is due later is not late")
        isBroken.set(1)
        clock.set(Instant(seconds: 1_100))
        #expect(try await shown() == [160])
        running.cancel()
        await running.value
        #expect(try await shown().isEmpty, "no reader is left")
    }
}

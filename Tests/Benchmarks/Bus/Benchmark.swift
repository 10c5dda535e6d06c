import Bus
import Foundation
import Kernel
import Logging
import Loop
import Processes
import Synchronization
import TestSupport

/// The asking process.
enum Benchmark {
    /// What was measured of one side.
    struct Result {
        let label: String
        var times: [Duration] = []
        var elapsed = Duration.zero
        /// Of both processes, without the broker.
        var processor = Duration.zero

        mutating func add(_ slice: (times: [Duration], elapsed: Duration), processor: Duration) {
            times += slice.times
            elapsed += slice.elapsed
            self.processor += processor
        }

        func percentile(_ percent: Int) -> Duration { times.isEmpty ? .zero : times.sorted()[times.count * percent / 100] }

        var perSecond: Double { Double(times.count) / (elapsed / .seconds(1)) }
        /// Microseconds of a processor for each call.
        var cost: Double { processor / .microseconds(1) / Double(max(1, times.count)) }
    }

    static func run(seconds: Double) async throws {
        let server = try await NatsServer.start()
        let responder = try await start(server.url)
        defer { responder.signal(SIGTERM) }
        let bus = try await BusConnection.connect(
            BusConfiguration(url: server.url, name: "asker"),
            logger: Logger(label: "bench")
        )
        let raw = try Raw(url: server.url)
        // As a handler calls another service: on the loop.
        let executor = LoopExecutor(bus.loop)
        let body = [UInt8](repeating: 7, count: 200)
        let viaBus: @Sendable () async throws -> Void = {
            _ = try await bus.callRaw(subject: "rpc.bench.v1.Echo", body: body, context: CallContext(), idempotent: false)
        }
        // As many headers as the bus sends for a guest, and the same length.
        let headers = [
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("request-id", "0af7651916cd43dd8448eb211c80319c"), ("deadline", "1700000000000"),
        ]
        let viaRaw: @Sendable () throws -> Void = { try raw.request("raw.echo", headers: headers, body: body) }
        _ = try await tasks(8, seconds / 4, on: executor, viaBus)
        _ = try await threads(8, seconds / 4, viaRaw)
        print("short slices in turn, so that both meet the same noise")
        for flight in [1, 64] {
            var (plain, ours) = (Result(label: "nats.c  \(flight)"), Result(label: "bus     \(flight)"))
            for _ in 0..<Int(seconds * 4) {
                let start = processorTime(with: responder)
                let slice = try await threads(flight, 0.25, viaRaw)
                let middle = processorTime(with: responder)
                plain.add(slice, processor: middle - start)
                ours.add(try await tasks(flight, 0.25, on: executor, viaBus), processor: processorTime(with: responder) - middle)
            }
            show(plain, ours)
        }
        await bus.close()
    }

    private static func show(_ plain: Result, _ ours: Result) {
        for result in [plain, ours] {
            print(
                "\(result.label)\tp50 \(micros(result.percentile(50))) µs\tp99 \(micros(result.percentile(99))) µs",
                "\t\(Int(result.perSecond))/s",
                String(format: "\tprocessor %.1f µs", result.cost)
            )
        }
        let median = ours.percentile(50) / plain.percentile(50)
        let (rate, cost) = (ours.perSecond / plain.perSecond, ours.cost / plain.cost)
        print(String(format: "ratio\t\tp50 %.2f\tthroughput %.2f\tprocessor %.2f", median, rate, cost))
    }

    /// What this process and another have used so far.
    private static func processorTime(with other: ChildProcess) -> Duration {
        [getpid(), other.pid].reduce(.zero) { sum, process in
            var (clock, time) = (clockid_t(), timespec())
            guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return sum }
            return sum + .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }

    private static func micros(_ duration: Duration) -> Int { Int(duration / .microseconds(1)) }

    private static func tasks(
        _ flight: Int,
        _ seconds: Double,
        on executor: LoopExecutor,
        _ call: @escaping @Sendable () async throws -> Void
    ) async throws -> (times: [Duration], elapsed: Duration) {
        let start = ContinuousClock.now
        let end = start.advanced(by: .seconds(seconds))
        let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for _ in 0..<flight {
                group.addTask(executorPreference: executor) {
                    var times: [Duration] = []
                    while true {
                        let before = ContinuousClock.now
                        if before >= end { return times }
                        try await call()
                        times.append(ContinuousClock.now - before)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return (times, ContinuousClock.now - start)
    }

    private static func threads(
        _ flight: Int,
        _ seconds: Double,
        _ call: @escaping @Sendable () throws -> Void
    ) async throws -> (times: [Duration], elapsed: Duration) {
        let start = ContinuousClock.now
        let end = start.advanced(by: .seconds(seconds))
        let times = Times()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<flight {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            var own: [Duration] = []
                            while true {
                                let before = ContinuousClock.now
                                if before >= end { break }
                                do { try call() } catch { break }
                                own.append(ContinuousClock.now - before)
                            }
                            times.all.withLock { $0 += own }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        return (times.all.withLock { $0 }, ContinuousClock.now - start)
    }

    private final class Times: Sendable {
        let all = Mutex<[Duration]>([])
    }

    /// The responder says on its output when it is ready.
    private static func start(_ url: String) async throws -> ChildProcess {
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("responder-\(UUID().uuidString)").path
        let child = try await ChildProcess.spawn(
            Command(
                executable: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path,
                arguments: ["responder", url],
                environment: Command.inherited(),
                output: output
            )
        )
        while FileManager.default.contents(atPath: output)?.isEmpty != false, !child.hasExited {
            try await Task.sleep(for: .milliseconds(10))
        }
        try FileManager.default.removeItem(atPath: output)
        return child
    }
}

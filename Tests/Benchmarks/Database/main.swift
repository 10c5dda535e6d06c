import Database
import Foundation
import Glibc
import Kernel
import Processes
import TestSupport

/// One-row reads and changes from 64 tasks on 8 connections, beside `pgbench -c8` with the same statements on the same server.
/// Ratios within one run count; absolute figures depend on what else the machine does.

let tasks = 64
let connections = 8
let rows = 100_000
let seconds = CommandLine.arguments.dropFirst().first.flatMap { Double($0) } ?? 5
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 3

/// Time on the processor, user and system, of this process and of the server's processes.
struct Processor {
    var own: Double
    var server: Double

    static func now(serverFolder: String) -> Processor {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let own = [usage.ru_utime, usage.ru_stime].reduce(0.0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
        var ticks = 0.0
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] where Int(entry) != nil {
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(entry)/cwd"),
                link.hasPrefix(serverFolder), let stat = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8)
            else { continue }
            let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
            ticks += (Double(fields[12]) ?? 0) + (Double(fields[13]) ?? 0)
        }
        return Processor(own: own, server: ticks / Double(sysconf(Int32(_SC_CLK_TCK))))
    }
}

struct Figures {
    var perSecond: Double
    var p50: Double
    var p99: Double
    var ownMicroseconds: Double
    var serverMicroseconds: Double
}

func measure(_ server: PostgresServer, _ body: @escaping @Sendable (Int) async throws -> Void) async throws -> Figures {
    let before = Processor.now(serverFolder: server.socketFolder)
    let start = ContinuousClock.now
    let end = start.advanced(by: .seconds(seconds))
    let times = try await withThrowingTaskGroup(of: [Double].self) { group in
        for task in 0..<tasks {
            group.addTask {
                var times: [Double] = []
                var key = task &* 7919
                var last = ContinuousClock.now
                while last < end {
                    key = (key &* 1_103_515_245 &+ 12345) & 0x7FFF_FFFF
                    try await body(key % rows + 1)
                    let now = ContinuousClock.now
                    times.append((now - last) / .microseconds(1))
                    last = now
                }
                return times
            }
        }
        return try await group.reduce(into: []) { $0 += $1 }.sorted()
    }
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    let after = Processor.now(serverFolder: server.socketFolder)
    let count = Double(times.count)
    return Figures(
        perSecond: count / elapsed,
        p50: times[times.count / 2],
        p99: times[times.count * 99 / 100],
        ownMicroseconds: (after.own - before.own) / count * 1e6,
        serverMicroseconds: (after.server - before.server) / count * 1e6
    )
}

func pgbench(_ server: PostgresServer, _ script: String) async throws -> Double {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sql")
    try script.write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let result = try await run(
        PostgresServer.binary("pgbench"),
        [
            "-n", "-M", "prepared", "-c", String(connections), "-j", "2", "-T", String(Int(seconds)), "-h", server.socketFolder,
            "-U", "postgres", "-f", file.path, "postgres",
        ]
    )
    let line = result.text.split(separator: "\n").first { $0.hasPrefix("tps = ") }
    return line?.split(separator: " ").dropFirst(2).first.flatMap { Double($0) } ?? 0
}

func show(_ name: String, _ ours: [Figures], _ theirs: [Double]) {
    func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    let ratios = zip(ours, theirs).map { $0.perSecond / $1 }
    print(
        String(
            format:
                "%-18@ %8.0f/s  pgbench -c8 %8.0f/s  ratio %.2f  p50 %5.0f µs  p99 %6.0f µs  CPU per query: ours %.1f µs, server %.1f µs",
            name as NSString,
            median(ours.map(\.perSecond)),
            median(theirs),
            median(ratios),
            median(ours.map(\.p50)),
            median(ours.map(\.p99)),
            median(ours.map(\.ownMicroseconds)),
            median(ours.map(\.serverMicroseconds))
        )
    )
}

let server = try await PostgresServer.start(isDurable: true)
try await server.withDatabase(poolSize: connections) { database in
    try await database.execute("CREATE TABLE public.bench (id int PRIMARY KEY, balance int NOT NULL) WITH (fillfactor = 50)")
    try await database.execute("INSERT INTO public.bench SELECT i, 0 FROM generate_series(1, \(rows)) i")
    _ = try await database.withSession { try await $0.execute("VACUUM ANALYZE public.bench") }
    var reads: ([Figures], [Double]) = ([], [])
    var writes: ([Figures], [Double]) = ([], [])
    for _ in 0..<rounds {
        reads.1.append(
            try await pgbench(server, "\\set id random(1, \(rows))\nSELECT balance FROM public.bench WHERE id = :id;\n")
        )
        reads.0.append(
            try await measure(server) { id in
                let rows = try await database.query("SELECT balance FROM public.bench WHERE id = \(Int32(id))")
                _ = try rows[0].decode(as: Int32.self)
            }
        )
        writes.1.append(
            try await pgbench(
                server,
                "\\set id random(1, \(rows))\nUPDATE public.bench SET balance = balance + 1 WHERE id = :id;\n"
            )
        )
        writes.0.append(
            try await measure(server) { id in
                try await database.execute("UPDATE public.bench SET balance = balance + 1 WHERE id = \(Int32(id))")
            }
        )
    }
    show("SELECT one row", reads.0, reads.1)
    show("UPDATE and commit", writes.0, writes.1)
}
await server.stop()

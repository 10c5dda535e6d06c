import Bus
import Foundation
import Kernel
import Logging
import Outbox
import Synchronization
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

private let url = Setting("nats.url", default: "fallback", help: "The bus.")
private let pool = Setting("database.pool", default: 8, help: "Connections.")
private let flag = Setting("dev.clock", default: false, help: "A switch.")
private let secret = Setting<String>("nats.password", default: nil, isSecret: true, help: "Secret.")
private let declared: [any AnySetting] = [url, pool, flag, secret]

@Suite("Settings")
struct SettingsTests {
    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("settings-\(UUID().uuidString)").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func settings(_ arguments: [String] = [], _ environment: [String: String] = [:]) throws -> Settings {
        try Settings(arguments: arguments, environment: environment, declared: declared)
    }

    @Test func `come from arguments before environment before file before default`() throws {
        let path = try file("{\"nats\": {\"url\": \"file\"}, \"database\": {\"pool\": 3}, \"dev\": {\"clock\": true}}")
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try settings().get(url) == "fallback")
        let fromFile = try settings(["--config", path])
        #expect(try fromFile.get(url) == "file")
        #expect(try fromFile.get(pool) == 3)
        #expect(try fromFile.get(flag))
        let environment = ["STREAKSNAP_CONFIG": path, "STREAKSNAP_NATS_URL": "environment", "NATS_URL": "not ours"]
        #expect(try settings([], environment).get(url) == "environment")
        #expect(try settings(["--nats-url", "argument"], environment).get(url) == "argument")
        #expect(try settings(["--nats-url=argument"], environment).get(url) == "argument")
        #expect(try settings(["--dev-clock"]).get(flag))
    }

    @Test func `a value may have commas, and of one that is given twice the last counts`() throws {
        #expect(try settings(["--nats-url", "nats://a:1,nats://b:2"]).get(url) == "nats://a:1,nats://b:2")
        #expect(try settings(["--nats-url=a", "--nats-url", "b"]).get(url) == "b")
        #expect(try settings(["--dev-clock", "--dev-clock=off"]).get(flag) == false)
    }

    @Test func `A file that is no JSON object, or holds what is no setting, is refused by name`() throws {
        for text in ["", "[]", "1", "{\"nats\": {\"url\": [\"a\"]}}", "{\"nats\": {\"url\": null}}", "{\"nats\": "] {
            let path = try file(text)
            defer { try? FileManager.default.removeItem(atPath: path) }
            let error = #expect(throws: Settings.Invalid.self, "\(text)") { try settings(["--config", path]) }
            #expect(error?.description.contains(path) == true)
        }
        #expect(throws: Settings.Invalid.self) { try settings(["--config", "/nowhere"]) }
        let dotted = try file("{\"nats.url\": \"dotted\", \"database\": {\"pool\": \"5\"}, \"unknown\": {}}")
        defer { try? FileManager.default.removeItem(atPath: dotted) }
        let fromFile = try settings(["--config", dotted])
        #expect(try fromFile.get(url) == "dotted")
        #expect(try fromFile.get(pool) == 5)
    }

    @Test func `Secrets come from files, without the line break an editor leaves`() throws {
        let path = try file("p ass\n")
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try settings(["--nats-password-file", path]).get(secret) == "p ass")
        #expect(try settings([], ["STREAKSNAP_NATS_PASSWORD_FILE": path]).get(secret) == "p ass")
        let missing = try settings(["--nats-password-file", "/nowhere"])
        #expect(throws: Settings.Invalid.self) { try missing.get(secret) }
    }

    @Test(arguments: [["--nats-ulr", "x"], ["stray"], ["--nats-url", "a", "b"]])
    func `Unknown and stray arguments are refused by name`(arguments: [String]) {
        let error = #expect(throws: Settings.Invalid.self) { try settings(arguments) }
        #expect(error?.description.contains("--help") == true)
    }

    @Test(arguments: [
        ["--nats-url"], ["--nats-url", "--dev-clock"], ["--dev-clock", "--nats-url"], ["--nats-password-file"],
        ["--database-pool", "3", "--nats-url"], ["--nats-url", "x", "--config"],
    ]) func `A setting without its value is refused by name`(arguments: [String]) {
        let error = #expect(throws: Settings.Invalid.self) { try settings(arguments) }
        let name = arguments.last { $0 != "--dev-clock" } ?? ""
        #expect(error?.description.hasPrefix("\(name) needs a value") == true, "\(error?.description ?? "accepted")")
    }

    @Test func `A switch needs no value, wherever it stands, and an empty value is one`() throws {
        #expect(try settings(["--dev-clock", "--nats-url", "x"]).get(flag))
        #expect(try settings(["--nats-url", "x", "--dev-clock"]).get(flag))
        #expect(try settings(["--dev-clock", "false"]).get(flag) == false)
        #expect(try settings(["--nats-url="]).get(url) == "")
    }

    @Test func `Only settings that must be alike everywhere have a fingerprint, which differs with the value`() {
        let shared = Setting<String>("media.signing-key", default: nil, isSecret: true, isShared: true, help: "Secret.")
        func fingerprints(_ values: [String: String]) -> [String: String] {
            Settings(values: values, declared: [url, secret, shared]).fingerprints
        }
        let first = fingerprints(["media.signing-key": String(repeating: "k", count: 40), "nats.password": "p"])
        let same = fingerprints(["media.signing-key": String(repeating: "k", count: 40), "nats.password": "q"])
        let other = fingerprints(["media.signing-key": String(repeating: "k", count: 39) + "l"])
        #expect(first.keys.sorted() == ["media.signing-key"] && first == same && first != other)
        #expect(fingerprints([:]).isEmpty)
    }

    @Test func `A share is a number wherever it comes from`() throws {
        let setting = Setting("trace.sample-ratio", default: 1.0, help: "Share.")
        for (arguments, environment, expected) in [
            ([], [:], 1.0), (["--trace-sample-ratio", "0.25"], [:], 0.25), ([], ["STREAKSNAP_TRACE_SAMPLE_RATIO": "0"], 0.0),
        ] as [([String], [String: String], Double)] {
            let settings = try Settings(arguments: arguments, environment: environment, declared: [setting])
            #expect(try settings.get(setting) == expected)
        }
        let path = try file("{\"trace\": {\"sample-ratio\": 0.125}}")
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try Settings(arguments: ["--config", path], environment: [:], declared: [setting]).get(setting) == 0.125)
        let wrong = try Settings(arguments: ["--trace-sample-ratio", "half"], environment: [:], declared: [setting])
        #expect(throws: Settings.Invalid.self) { try wrong.get(setting) }
    }

    @Test func `A value of the wrong type, or a missing one, names the setting`() throws {
        let wrong = try settings(["--database-pool", "many"], ["STREAKSNAP_DEV_CLOCK": "perhaps"])
        let error = #expect(throws: Settings.Invalid.self) { try wrong.get(pool) }
        #expect(error?.description.contains("--database-pool") == true)
        #expect(error?.description.contains("STREAKSNAP_DATABASE_POOL") == true)
        #expect(throws: Settings.Invalid.self) { try wrong.get(flag) }
        let required = #expect(throws: Settings.Invalid.self) { try wrong.get(secret) }
        #expect(required?.description.contains("--nats-password") == true)
    }

    @Test func `An address that is none of a broker is refused, not tried for ever, and one with tls asks for TLS`() throws {
        func configuration(_ url: String) throws -> BusConfiguration {
            try BusConfiguration(Settings(values: ["nats.url": url], declared: ServiceSettings.all), name: "auth")
        }
        for url in ["http://a", "nats://", "nats://a:4222,", "a:4222,ws://b", "://a"] {
            let error = #expect(throws: Settings.Invalid.self, "\(url)") { try configuration(url) }
            #expect(error?.description.hasPrefix("--nats-url (or STREAKSNAP_NATS_URL) must be nats://host:port") == true)
        }
        for url in ["nats://a:4222", "tls://user:word@a:4222,nats://b:1, c:2", "a"] { #expect(try configuration(url).url == url) }
        #expect(try configuration("nats://a:1, tls://b:1").tls != nil && configuration("nats://a:1,b:1").tls == nil)
    }

    @Test func `A value out of its range is refused before anything runs, and names the setting`() throws {
        for (key, values) in [
            ("database.pool", ["0", "201"]), ("database.statement-timeout", ["0", "-1"]), ("rpc.max-in-flight", ["0"]),
            ("admin.port", ["-1", "70000"]),
        ] {
            for value in values {
                let wrong = Settings(values: [key: value], declared: ServiceSettings.all)
                let error = #expect(throws: Settings.Invalid.self) { try wrong.checkAll() }
                #expect(error?.description.contains("--" + key.replacing(".", with: "-")) == true, "\(key) \(value)")
                #expect(error?.description.contains(" must be from ") == true)
            }
        }
        let wrong = Settings(values: ["dev.clock": "perhaps"], declared: ServiceSettings.all)
        #expect(throws: Settings.Invalid.self) { try wrong.checkAll() }
        let right = ["database.pool": "200", "admin.port": "", "nats.user": "x"]
        try Settings(values: right, declared: ServiceSettings.all).checkAll()
        let file = #expect(throws: Settings.Invalid.self) { try settings(["--config", "/nowhere/it.json"], [:]) }
        #expect(file?.description == "The configuration file /nowhere/it.json (--config) cannot be read.")
    }

    @Test func `--help lists every setting with argument, variable and default, and shows no secret`() {
        let text = Settings.help(program: "p", about: "About.", declared: ServiceSettings.all)
        for setting in ServiceSettings.all {
            #expect(text.contains(setting.argument) && text.contains(setting.environmentName) && text.contains(setting.help))
            if let fallback = setting.defaultText, !setting.isSecret { #expect(text.contains("[\(fallback)]")) }
        }
    }
}

/// The text format 0.0.4 as Prometheus reads it, strictly.
private struct PrometheusPage {
    var types: [String: String] = [:]
    var samples: [(name: String, labels: [String: String], value: Double)] = []

    init(_ text: String) throws {
        #expect(text.hasSuffix("\n"))
        let sample = /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([^ ]+)/
        let label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("# HELP ") { continue }
            if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ")
                let name = String(try #require(words.count == 4 ? words[2] : nil))
                #expect(types.updateValue(String(words[3]), forKey: name) == nil)
                continue
            }
            let match = try #require(try sample.wholeMatch(in: line), "\(line)")
            var rest = match.output.2 ?? ""
            var labels: [String: String] = [:]
            while !rest.isEmpty {
                let found = try #require(try label.prefixMatch(in: rest), "\(line)")
                #expect(labels.updateValue(String(found.output.2), forKey: String(found.output.1)) == nil)
                rest = rest[found.range.upperBound...]
            }
            let number = String(match.output.3)
            samples.append((String(match.output.1), labels, try #require(Double(number), "\(line)")))
        }
    }
}

@Suite("Metrics")
struct MetricsTests {
    @Test func `are a page that Prometheus reads, whatever labels hold`() throws {
        let metrics = Metrics()
        metrics.counter("requests_total", [("path", "a\"b\\c\nd"), ("code", "ok")], help: "Requests.").increment(by: 3)
        metrics.counter("requests_total", [("path", "x,y=\"}"), ("code", "ok")], help: "Requests.").increment()
        metrics.gauge("in_flight", help: "Now.\nMore: a \\ stroke.").set(-4)
        let page = try PrometheusPage(metrics.text())
        #expect(page.types == ["requests_total": "counter", "in_flight": "gauge"])
        #expect(page.samples.map(\.value).sorted() == [-4, 1, 3])
    }

    @Test func `Histograms are cumulative, end at +Inf, and agree with their count and sum`() throws {
        let metrics = Metrics()
        let histogram = metrics.histogram("duration_seconds", [("m", "x")], help: "Time.")
        for microseconds in [1, 500, 501, 9_999, 70_000, 99_000_000] { histogram.record(Duration.microseconds(microseconds)) }
        let page = try PrometheusPage(metrics.text())
        let buckets = page.samples.filter { $0.name == "duration_seconds_bucket" }
        #expect(buckets.map(\.value) == buckets.map(\.value).sorted())
        #expect(buckets.last?.labels["le"] == "+Inf" && buckets.last?.value == 6)
        #expect(buckets.first?.labels["le"] == "0.0001" && buckets.first?.value == 1)
        #expect(buckets.first { $0.labels["le"] == "0.0005" }?.value == 2)
        #expect(page.samples.first { $0.name == "duration_seconds_count" }?.value == 6)
        let sum = try #require(page.samples.first { $0.name == "duration_seconds_sum" }?.value)
        #expect(abs(sum - 99.081001) < 1e-6)
    }

    @Test func `The same name and labels are the same series`() {
        let metrics = Metrics()
        metrics.counter("a_total", [("x", "1")], help: "").increment()
        metrics.counter("a_total", [("x", "1")], help: "").increment()
        #expect(metrics.counter("a_total", [("x", "1")], help: "").current == 2)
    }
}

@Suite("Log lines, jobs and the development clock")
struct SmallTests {
    @Test func `Any text becomes a JSON string that reads back`() throws {
        let texts =
            (0..<0x30).map { "a\(Character(Unicode.Scalar(UInt8($0))))b" } + ["\"\\/", "é\u{2028}\u{1F600}", "\r\n", "\u{7F}"]
        for text in texts {
            let json = JSONLogHandler.quoted(text)
            #expect(!json.utf8.contains { $0 < 0x20 })
            #expect(try JSONDecoder().decode([String].self, from: Data("[\(json)]".utf8)) == [text])
        }
    }

    @Test func `The development clock never goes back`() async {
        let clock = DevelopmentClock()
        await withTaskGroup(of: Void.self) { tasks in
            for seconds in [50, 10, 90, 30] as [Int64] { tasks.addTask { clock.shift(to: .seconds(seconds)) } }
        }
        #expect(clock.shift == .seconds(90))
        clock.shift(to: .zero)
        #expect(clock.shift == .seconds(90))
        #expect(clock.now() >= SystemClock.now() + .seconds(89))
    }

    @Test(arguments: [ServiceError.internal as any Error, CancellationError()])
    func `Jobs run until nothing is due, and go on after a failure, also one of what was cancelled elsewhere`(failure: any Error)
        async throws
    {
        let counter = Metrics().counter("runs", help: "")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let job = Job("due", every: .milliseconds(1)) { _ in
            counter.increment()
            if counter.current == 2 { throw failure }
            return counter.current < 4 ? 1 : 0
        }
        let metrics = Metrics()
        let runner = JobRunner(jobs: [job], clock: SystemClock(), logger: logger, metrics: metrics)
        let running = Task { await runner.run() }
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while counter.current < 6, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(2)) }
        running.cancel()
        await running.value
        #expect(counter.current >= 6)
        #expect(metrics.counter("streaksnap_job_failures_total", [("job", "due")], help: "").current == 1)
        #expect(try await runner.runAllDue() == 0)
    }

    @Test func `A job that is woken looks at once, and ends at once`() async throws {
        let looks = Atomic(0)
        let signal = WakeSignal()
        // The interval never ends within the test.
        let job = Job("woken", every: .seconds(3600), lanes: 2, wokenBy: signal) { _ in
            looks.add(1, ordering: .relaxed)
            return 0
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let runner = JobRunner(jobs: [job], clock: SystemClock(), logger: logger, metrics: Metrics())
        let task = Task { await runner.run() }
        for look in 1...3 {
            try await eventually("look \(look)") { looks.load(ordering: .relaxed) == look }
            signal.wake()
        }
        try await eventually("the last look") { looks.load(ordering: .relaxed) == 4 }
        task.cancel()
        await task.value
        #expect(looks.load(ordering: .relaxed) == 4)
    }

    @Test func `While nothing is due only one lane of a job looks`() async throws {
        let looks = Atomic(0)
        let others = Atomic(0)
        // The interval never ends within the test: what looks, looks at its start. The other job shows that all lanes have started.
        let idle = Job("idle", every: .seconds(3600), lanes: 4) { _ in
            looks.add(1, ordering: .relaxed)
            return 0
        }
        let busy = Job("busy", every: .milliseconds(1), lanes: 4) { _ in
            others.add(1, ordering: .relaxed)
            return 0
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let runner = JobRunner(jobs: [idle, busy], clock: SystemClock(), logger: logger, metrics: Metrics())
        let task = Task { await runner.run() }
        try await eventually("the jobs have looked") {
            looks.load(ordering: .relaxed) > 0 && others.load(ordering: .relaxed) >= 50
        }
        task.cancel()
        await task.value
        #expect(looks.load(ordering: .relaxed) == 1)
    }

    @Test func `what a job is at counts as due until it is done`() async throws {
        let gate = WakeSignal()
        let runs = Atomic(0)
        // The first run claims the only row; every other one finds nothing due, and yet the row is not done.
        let job = Job("claimed", every: .seconds(3600)) { _ in
            guard runs.add(1, ordering: .relaxed).newValue == 1 else { return 0 }
            await gate.wait(atMost: .seconds(600))
            return 1
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let runner = JobRunner(jobs: [job], clock: SystemClock(), logger: logger, metrics: Metrics())
        let running = Task { await runner.run() }
        try await eventually("the row is claimed") { runs.load(ordering: .relaxed) == 1 }
        let hasEnded = Atomic(false)
        let settling = Task {
            let rows = try await runner.runAllDue()
            hasEnded.store(true, ordering: .relaxed)
            return rows
        }
        try await eventually("another run has found nothing") { runs.load(ordering: .relaxed) == 2 }
        for _ in 0..<100 { await Task.yield() }
        #expect(!hasEnded.load(ordering: .relaxed) && runner.activity.dealtWith == 0)
        gate.wake()
        #expect(try await settling.value == 0)
        #expect(runner.activity.dealtWith == 1, "and it is counted as done")
        running.cancel()
        await running.value
    }

    @Test func `A job with two lanes works on two batches at a time, and no more`() async throws {
        let running = Atomic(0)
        let most = Atomic(0)
        let runs = Atomic(0)
        let job = Job("due", every: .milliseconds(1), lanes: 2) { _ in
            most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(2))
            running.subtract(1, ordering: .relaxed)
            runs.add(1, ordering: .relaxed)
            return 1
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let runner = JobRunner(jobs: [job], clock: SystemClock(), logger: logger, metrics: Metrics())
        let task = Task { await runner.run() }
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while most.load(ordering: .relaxed) < 2 || runs.load(ordering: .relaxed) < 50, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(2))
        }
        task.cancel()
        await task.value
        #expect(most.load(ordering: .relaxed) == 2 && runs.load(ordering: .relaxed) >= 50)
    }
}

/// How many files may be open.
struct OpenFilesTests {
    @Test(arguments: [
        (UInt(1_024), UInt(524_288), UInt(65_536)), (1_024, 4_096, 4_096), (1_024, .max, 65_536), (100_000, 524_288, 100_000),
        (20_000, 20_000, 20_000),
    ]) func `the limit is raised as far as the operator allows, and never lowered`(now: UInt, hard: UInt, wanted: UInt) {
        #expect(OpenFiles.wanted(now: now, atMost: hard) == wanted)
    }

    @Test func `connections leave files for what they ask for`() {
        #expect(OpenFiles.connections(atMost: 20_000, of: 65_536) == 20_000)
        #expect(OpenFiles.connections(atMost: 20_000, of: 1_024) == 768)
        #expect(OpenFiles.connections(atMost: 20_000, of: .max) == 20_000)
        #expect(OpenFiles.connections(atMost: 1) == 1)
    }
}

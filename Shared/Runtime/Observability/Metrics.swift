internal import Synchronization

/// The process's metrics, shown as Prometheus text at `/metrics`.
///
/// Recording is an atomic addition; nothing is allocated after the first use of a label set.
public final class Metrics: Sendable {
    private let registry: Registry
    /// Labels that everything recorded here has, as they are written.
    private let common: String

    private final class Registry: Sendable {
        let families = Mutex<[String: Family]>([:])
    }

    private struct Family {
        let help: String
        let type: String
        var series: [String: any MetricSeries] = [:]
    }

    /// No metrics yet.
    public convenience init() { self.init(Registry(), "") }

    private init(_ registry: Registry, _ common: String) {
        self.registry = registry
        self.common = common
    }

    /// The same page, on which everything recorded through the result has these labels besides its own.
    public func labelled(_ labels: [(String, String)]) -> Metrics {
        Metrics(registry, Self.joined(common, Self.text(labels)))
    }

    /// A number that only grows. The same name and labels give the same counter.
    public func counter(_ name: String, _ labels: [(String, String)] = [], help: String) -> Counter {
        series(name, labels, help: help, type: "counter") { Counter() }
    }

    /// A number that goes up and down.
    public func gauge(_ name: String, _ labels: [(String, String)] = [], help: String) -> Gauge {
        series(name, labels, help: help, type: "gauge") { Gauge() }
    }

    /// A distribution of durations in seconds, in fixed buckets from 0.1 ms to 10 s.
    public func histogram(_ name: String, _ labels: [(String, String)] = [], help: String) -> Histogram {
        series(name, labels, help: help, type: "histogram") { Histogram() }
    }

    /// A number that is asked for when the page is made; a later one of the same name and labels takes its place.
    ///
    /// - Parameters:
    ///   - isCounter: Whether it only grows.
    ///   - read: The number; nil leaves the line out. It must not block.
    public func measured(
        _ name: String,
        _ labels: [(String, String)] = [],
        isCounter: Bool = false,
        help: String,
        _ read: @escaping @Sendable () -> Double?
    ) {
        let labels = Self.joined(common, Self.text(labels))
        registry.families.withLock { families in
            families[name, default: Family(help: help, type: isCounter ? "counter" : "gauge")].series[labels] = Measured(
                read: read
            )
        }
    }

    private func series<S: MetricSeries>(
        _ name: String,
        _ labels: [(String, String)],
        help: String,
        type: String,
        make: () -> S
    ) -> S {
        let text = Self.joined(common, Self.text(labels))
        let found = registry.families.withLock { families -> any MetricSeries in
            var family = families[name] ?? Family(help: help, type: type)
            let series = family.series[text] ?? make()
            family.series[text] = series
            families[name] = family
            return series
        }
        // A name used for two types is a mistake in the program; recording into an unregistered series does no harm.
        return (found as? S) ?? make()
    }

    /// All metrics in the Prometheus text format 0.0.4.
    public func text() -> String {
        // What is measured is read outside the lock: reading it may need other locks.
        let families = registry.families.withLock { $0 }
        var lines: [String] = []
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
            lines.append("# HELP \(name) \(help)")
            lines.append("# TYPE \(name) \(family.type)")
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, into: &lines)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func text(_ labels: [(String, String)]) -> String {
        labels.map { "\($0.0)=\"\(escaped($0.1))\"" }.joined(separator: ",")
    }

    private static func joined(_ first: String, _ second: String) -> String {
        first.isEmpty || second.isEmpty ? first + second : "\(first),\(second)"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

/// One line, or a few, of the metrics page.
protocol MetricSeries: Sendable {
    func write(name: String, labels: String, into lines: inout [String])
}

/// A number that is asked for.
private struct Measured: MetricSeries {
    let read: @Sendable () -> Double?

    func write(name: String, labels: String, into lines: inout [String]) {
        guard let value = read() else { return }
        lines.append("\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(value)")
    }
}

/// A number that only grows.
public final class Counter: MetricSeries {
    private let value = Atomic<Int>(0)

    /// Adds to it.
    public func increment(by amount: Int = 1) { value.add(amount, ordering: .relaxed) }

    /// What it shows.
    public var current: Int { value.load(ordering: .relaxed) }

    func write(name: String, labels: String, into lines: inout [String]) {
        lines.append("\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(current)")
    }
}

/// A number that goes up and down.
public final class Gauge: MetricSeries {
    private let value = Atomic<Int>(0)

    /// Sets it.
    public func set(_ amount: Int) { value.store(amount, ordering: .relaxed) }

    /// Adds to it; negative takes away.
    public func add(_ amount: Int) { value.add(amount, ordering: .relaxed) }

    /// What it shows.
    public var current: Int { value.load(ordering: .relaxed) }

    func write(name: String, labels: String, into lines: inout [String]) {
        lines.append("\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(current)")
    }
}

/// A distribution of durations.
public final class Histogram: MetricSeries {
    private static let bounds: [Int64] = [
        100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
        10_000_000,
    ]
    private let counts = Mutex<(buckets: [Int], sumMicroseconds: Int64)>(
        (Array(repeating: 0, count: Histogram.bounds.count + 1), 0)
    )

    /// Records one duration.
    public func record(_ duration: Duration) {
        let parts = duration.components
        let microseconds = parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
        let bucket = Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count
        counts.withLock { counts in
            counts.buckets[bucket] += 1
            counts.sumMicroseconds += microseconds
        }
    }

    func write(name: String, labels: String, into lines: inout [String]) {
        let (buckets, sum) = counts.withLock { $0 }
        let prefix = labels.isEmpty ? "" : labels + ","
        var total = 0
        for (index, bound) in Self.bounds.enumerated() {
            total += buckets[index]
            lines.append("\(name)_bucket{\(prefix)le=\"\(Double(bound) / 1_000_000)\"} \(total)")
        }
        total += buckets[Self.bounds.count]
        lines.append("\(name)_bucket{\(prefix)le=\"+Inf\"} \(total)")
        let suffix = labels.isEmpty ? "" : "{\(labels)}"
        lines.append("\(name)_sum\(suffix) \(Double(sum) / 1_000_000)")
        lines.append("\(name)_count\(suffix) \(total)")
    }
}

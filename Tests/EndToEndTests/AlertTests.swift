import Foundation
import Processes
import TestSupport
import Testing

/// What operators look at: the alerts of `deploy/prometheus`, the dashboards of `deploy/grafana`, and the metrics that both name.
struct AlertTests {
    private static let deploy = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy").standardized

    private static let dashboards = ["overview", "services", "work"]

    /// Series that are not there before what they count has happened for the first time, or without the development clock.
    private static let later: Set<String> = [
        "streaksnap_clock_offset_seconds", "streaksnap_database_errors_total", "streaksnap_mail_retries_total",
        "streaksnap_mails_total", "streaksnap_push_requests_total", "streaksnap_pushes_dropped_total", "streaksnap_pushes_total",
        "streaksnap_rpc_refused_total", "streaksnap_rpc_repeats_total", "streaksnap_settlement_postponed_total",
    ]

    /// `promtool` of the system, or where `deploy/dev` has put it.
    private static var promtool: String {
        Command.find("promtool") ?? deploy.appending(path: "../.run/prometheus/usr/bin/promtool").standardized.path
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: deploy.appending(path: path), encoding: .utf8)
    }

    @Test(arguments: [
        ["check", "config", "prometheus.yaml"], ["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"],
        ["test", "rules", "alerts_slow_test.yaml"],
    ])
    func `promtool accepts it`(command: [String]) async throws {
        let file = Self.deploy.appending(path: "prometheus/\(command[2])").path
        let result = try await run(Self.promtool, [command[0], command[1], file])
        #expect(result.status == 0, "\(result.transcript)")
    }

    @Test func `every alert is tested, and leads to its section of the runbook`() throws {
        let alerts = try Self.text("prometheus/alerts.yaml")
        let tests = try Self.text("prometheus/alerts_test.yaml") + Self.text("prometheus/alerts_slow_test.yaml")
        let runbook = try Self.text("docs/runbook.md")
        let headings = Set(
            runbook.split(separator: "\n").filter { $0.hasPrefix("## ") }.map {
                $0.dropFirst(3).lowercased().replacing(" ", with: "-")
            }
        )
        let rules = alerts.components(separatedBy: "- alert: ").dropFirst()
        #expect(rules.count > 30)
        for rule in rules {
            let name = String(rule.prefix { $0 != "\n" })
            // Once where it fires, once where it does not.
            #expect(tests.ranges(of: "alertname: \(name)\n").count == 2, "\(name)")
            let anchor = rule.firstMatch(of: /runbook_url: deploy\/docs\/runbook\.md#([a-z-]+)/)?.output.1
            #expect(headings.contains(anchor.map(String.init) ?? ""), "\(name)")
            #expect(runbook.contains("`\(name)`, "), "\(name)")
        }
        #expect(runbook.ranges(of: "`StreakSnap").count >= rules.count)
    }

    @Test func `every metric that alerts and dashboards name is one that a running system exposes`() async throws {
        let files = ["prometheus/alerts.yaml"] + Self.dashboards.map { "grafana/\($0).json" }
        let named = Set(
            try files.flatMap {
                try Self.text($0).matches(of: /(^|[^\w:])((streaksnap|process)_[a-z_]+)/).map { String($0.output.2) }
            }
        ).map { $0.replacing(/_(bucket|count)$/, with: "") }
        #expect(named.count > 35)

        let home = try await Installation.observed.value
        let person = try await Person.register("una", at: home)
        #expect(try await person.get("/api/streaks").status == 200)
        let admin = HTTPClient(port: try Installation.observedPort.get())
        let expected = Set(named).subtracting(Self.later)
        try await eventually("all are on the page, but for \(Self.later)") {
            let page = try await admin.send("GET", "/metrics").text
            return expected.subtracting(page.matches(of: /# TYPE (\S+)/).map { String($0.output.1) }).isEmpty
        }
        #expect(Self.later.isSubset(of: named), "remove from `later` what is not named")
        let sources = ["Shared", "Services"].flatMap { folder in
            Files.all(below: Self.deploy.appending(path: "../\(folder)").standardized).filter { $0.pathExtension == "swift" }
        }.compactMap { Files.text($0) }
        for name in Self.later { #expect(sources.contains { $0.contains("\"\(name)\"") }, "\(name)") }
    }

    @Test func `every dashboard is whole: panels, expressions, and an id of its own`() throws {
        var ids: Set<String> = []
        for name in Self.dashboards {
            let board = try JSON(Array(try Self.text("grafana/\(name).json").utf8))
            #expect(board["uid"].string == "streaksnap-\(name)")
            ids.formUnion([board["uid"].string ?? ""])
            let panels = board["panels"].list
            #expect(panels.count > 10)
            #expect(Set(panels.compactMap { $0["id"].int }).count == panels.count)
            for panel in panels {
                let isWhole = panel["targets"].list.allSatisfy { $0["expr"].string?.isEmpty == false }
                #expect(isWhole && !panel["targets"].list.isEmpty, "\(panel["title"])")
            }
        }
        #expect(ids.count == Self.dashboards.count)
    }
}

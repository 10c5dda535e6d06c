import Kernel
import Logging
import TestSupport
import Testing

@testable import Runtime

/// What a process says of its zone data.
@Suite struct ZoneDataWatchTests {
    private static let silence = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }

    @Test func `a folder without time zones ends the start, and the error names the setting`() {
        let settings = Settings(values: ["zoneinfo.folder": "/nowhere"], declared: CommonSettings.process)
        let error = #expect(throws: Settings.Invalid.self) {
            try ZoneDataWatch(settings, logger: Self.silence, metrics: Metrics())
        }
        #expect(error?.description.contains("--zoneinfo-folder (or STREAKSNAP_ZONEINFO_FOLDER) names /nowhere") == true)
    }

    @Test func `the metrics show the versions in the folder, in use and known as numbers`() throws {
        let metrics = Metrics()
        _ = try ZoneDataWatch(Settings(values: [:], declared: CommonSettings.process), logger: Self.silence, metrics: metrics)
        let text = metrics.text()
        for state in ["installed", "used", "known"] {
            let line = try #require(
                text.split(separator: "\n").first { $0.hasPrefix("streaksnap_zone_data_release{state=\"\(state)\"}") }
            )
            let number = try #require(line.split(separator: " ").last.flatMap { Double($0) })
            #expect(number > 200_000 && number < 300_000, "\(line)")
        }
    }

    @Test func `the versions of replicas are read from what they say of themselves, if they say it`() {
        let replicas = [
            ["zones": "2026f", "database": "available"], ["database": "available"], ["zones": "2025b"], ["zones": "new"],
        ]
        #expect(ZoneDataWatch.versions(in: replicas).map(\.description) == ["2026f", "2025b"])
    }
}

public import Kernel
public import Logging

/// Looks after the tz database of this process: where it lies, which version it is, and whether a newer one has come.
public struct ZoneDataWatch: Sendable {
    /// A package is replaced a few times a year.
    private static let interval = Duration.seconds(20)
    /// The key of the version in what a replica says of itself on the bus.
    private static let key = "zones"

    private let database = TimeZoneDatabase.system
    private let logger: Logger

    /// Reads the database in the folder of the settings from now on, and shows its versions in the metrics.
    ///
    /// - Throws: `Settings.Invalid` when there is none: every user would live by UTC, and streaks break at the wrong hour.
    public init(_ settings: Settings, logger: Logger, metrics: Metrics) throws {
        self.logger = logger
        let folder = try settings.get(CommonSettings.zoneFolder)
        guard TimeZoneDatabase.isInstalled(in: folder) else {
            throw CommonSettings.zoneFolder.invalid("names \(folder), where there are no time zones: install tzdata.")
        }
        database.use(folder: folder)
        for (state, read) in Self.states(of: database) {
            metrics.measured(
                "streaksnap_zone_data_release",
                [("state", state)],
                help: "Version of the tz database, 202606 for 2026f: in the folder, in use, and the newest that is known."
            ) { read().map { Double($0.number) } }
        }
        if let installed = database.installed, installed < .newestKnown { report(installed) }
    }

    /// Looks until the task is cancelled, and takes up what is newer, unless another caller decides when (`TimeZoneDatabase.keep`).
    public func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            let before = database.installed
            let isNewer = database.look()
            let installed = database.installed
            if isNewer, !database.isKept { database.takeUp() }
            guard let installed, installed != before else { continue }
            if isNewer {
                logger.notice("newer zone data is installed", metadata: ["version": "\(installed)"])
            } else {
                report(installed)
            }
        }
    }

    /// What a replica says of itself on the bus: the version it goes by.
    public static var metadata: [String: String] {
        TimeZoneDatabase.system.version.map { [key: $0.description] } ?? [:]
    }

    /// The versions that replicas say of themselves; one of an earlier release says none.
    public static func versions(in metadata: [[String: String]]) -> [ZoneVersion] {
        metadata.compactMap { $0[key].flatMap { ZoneVersion($0) } }
    }

    private static func states(of database: TimeZoneDatabase) -> [(String, @Sendable () -> ZoneVersion?)] {
        [("installed", { database.installed }), ("used", { database.version }), ("known", { database.newest })]
    }

    private func report(_ installed: ZoneVersion) {
        logger.warning(
            "older zone data is installed than is known",
            metadata: [
                "installed": "\(installed)", "known": "\(database.newest)",
                "wayOut": "Upgrade the package tzdata, or put the newest into the folder.",
            ]
        )
    }
}

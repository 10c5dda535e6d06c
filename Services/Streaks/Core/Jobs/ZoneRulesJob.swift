internal import Kernel
internal import Logging
internal import Outbox
internal import ServiceRuntime
internal import StreaksDomain
private import Synchronization

/// Has every replica settle ledgers by the same rules of zones, and takes newer ones up under running streaks (SD-1, SD-3).
///
/// The rules lie in the service's database; the first replica brings those of its folder. When the folder of a replica has a newer version
/// (`TimeZoneDatabase.look`), zone by zone, as soon as no open date is cut short (`ZoneRulesChange.isReady`):
/// 1. the past of its users' clocks is kept as they showed it, so that nothing settled is judged again;
/// 2. every replica goes by the new rules, within seconds;
/// 3. deadlines and reminders are computed anew.
///
/// Each step is a batch in a transaction with the place where the next begins: after a kill another replica continues there. A replica with
/// older data goes by what the database has, and never moves it back.
struct ZoneRulesJob: Sendable {
    private static let keptAtOnce = 500
    private static let settledAtOnce = 50
    /// Until every replica has seen a change.
    static let spread = Interval.seconds(30)
    /// Rules that differ nowhere in it make no difference to users: compiled in another way, or corrected for a past without users.
    private static let relevant = Instant(seconds: 946_684_800)..<Instant(seconds: 4_102_444_800)

    let writer: StreakWriter
    let work: UnitOfWorkFactory
    let logger: Logger
    /// What is installed where this replica runs.
    var folder = TimeZoneDatabase.system
    /// What this replica goes by.
    var used = TimeZoneDatabase.system
    private let seen = Seen()

    /// The revision of the rules that this replica goes by; nil before the first look.
    private final class Seen: Sendable {
        let revision = Mutex<Int64?>(nil)
    }

    init(writer: StreakWriter, work: UnitOfWorkFactory, logger: Logger) {
        (self.writer, self.work, self.logger) = (writer, work, logger)
    }

    var job: Job { Job("zone_data", every: .seconds(5)) { [self] _ in try await step() } }

    /// Before anything is settled here: from now on this replica goes by what the database has, and only the job changes that.
    func begin() async throws {
        used.keep()
        if let state = try await ZoneRulesRepository.state(writer.store.database) { try await follow(state) }
    }

    /// - Returns: how much was done; 0 when nothing is to be done now.
    func step() async throws -> Int {
        guard let state = try await ZoneRulesRepository.state(writer.store.database) else { return try await storeFirst() }
        try await follow(state)
        let installed = folder.installed
        guard state.target != nil || installed.map({ $0 > state.version }) ?? false else { return 0 }
        return try await work.run(trace: "", requestID: "") { [self] work in
            guard let state = try await ZoneRulesRepository.lock(work.sql) else { return 0 }
            guard state.target != nil else { return try await compare(state, installed, work) }
            if state.zones.isEmpty { return try await choose(state, work) }
            guard let keptAt = state.keptAt else { return try await keepPast(state, work) }
            return try await computeAnew(state, keptAt: keptAt, work)
        }
    }

    /// Goes by the rules that the database has.
    private func follow(_ state: ZoneDataState) async throws {
        let last = seen.revision.withLock { $0 }
        guard last != state.revision else { return }
        let isSame = last == nil && state.target == nil && state.version == used.version
        if !isSame {
            let files = try await ZoneRulesRepository.rules(after: last ?? 0, writer.store.database)
            used.replace(files.compactMapValues(ZoneRules.init), version: state.version)
            if let last, last > 0 {
                logger.notice(
                    "rules of time zones have changed",
                    metadata: ["version": "\(state.version)", "zones": "\(files.count)"]
                )
            }
        }
        seen.revision.withLock { $0 = state.revision }
    }

    private func storeFirst() async throws -> Int {
        guard let version = folder.installed else { return 0 }
        let files = self.files()
        _ = try await work.run(trace: "", requestID: "") { try await ZoneRulesRepository.begin(version, files, $0.sql) }
        return 0
    }

    /// What the folder has, as far as it can be used.
    private func files() -> [String: [UInt8]] {
        let files = folder.names.compactMap { name in folder.file(of: name).map { (name, $0) } }
        return Dictionary(files.filter { ZoneRules($0.1) != nil }) { first, _ in first }
    }

    /// Finds out which zones have other rules in the folder.
    private func compare(_ state: ZoneDataState, _ installed: ZoneVersion?, _ work: UnitOfWork) async throws -> Int {
        guard let installed, installed > state.version else { return 0 }
        let known = try await ZoneRulesRepository.rules(after: 0, work.sql)
        let revision = state.revision + 1
        var changed: [String] = []
        for (zone, file) in files() where known[zone] != file {
            guard let old = known[zone].flatMap(ZoneRules.init), let new = ZoneRules(file),
                !old.differences(from: new, in: Self.relevant).isEmpty
            else {
                try ZoneRulesRepository.add(zone, file, revision: revision, work.sql)
                continue
            }
            try ZoneRulesRepository.prepare(file, of: zone, work.sql)
            changed.append(zone)
        }
        try await ZoneRulesRepository.aim(at: installed, now: work.now, revision: revision, work.sql)
        logger.notice(
            "newer zone data is taken up",
            metadata: ["from": "\(state.version)", "to": "\(installed)", "zones": "\(changed.sorted().joined(separator: ","))"]
        )
        return 1
    }

    /// Whose turn it is: of the zones that wait, those that may change now. Without any left the newer data is in use.
    private func choose(_ state: ZoneDataState, _ work: UnitOfWork) async throws -> Int {
        let waiting = try await ZoneRulesRepository.waiting(work.sql)
        guard !waiting.isEmpty else {
            try await ZoneRulesRepository.finish(revision: state.revision + 1, work.sql)
            return 1
        }
        let since = state.targetSince ?? work.now
        let ready = waiting.filter { $0.isReady(at: work.now, knownSince: since) }.map(\.zone)
        guard !ready.isEmpty else { return 0 }
        try await ZoneRulesRepository.turn(ready, work.sql)
        return 1
    }

    /// One batch of users whose clocks' past is kept; after the last the rules change.
    private func keepPast(_ state: ZoneDataState, _ work: UnitOfWork) async throws -> Int {
        // A change of a zone that is added meanwhile would lie before the entry that leads back to the old zone.
        try await ZoneRulesRepository.lockClocks(work.sql)
        let changes = try await ZoneRulesRepository.waiting(work.sql).filter { state.zones.contains($0.zone) }
        let page = try await ZoneRulesRepository.page(of: state.zones, after: state.reached, limit: Self.keptAtOnce, work.sql)
        let entries = try await ZoneRulesRepository.entries(of: page.users, work.sql)
        let kept = entries.flatMap { user, entries in
            changes.flatMap { $0.kept(in: entries, at: work.now) }.map { (user: user, entry: $0) }
        }
        try await ZoneRulesRepository.keep(kept, work.sql)
        if page.reached == nil {
            try await ZoneRulesRepository.change(state.zones, at: work.now, revision: state.revision + 1, work.sql)
        } else {
            try await ZoneRulesRepository.reach(page.reached, work.sql)
        }
        return max(page.users.count, 1)
    }

    /// One batch of users whose deadlines and reminders are computed by the new rules.
    private func computeAnew(_ state: ZoneDataState, keptAt: Instant, _ work: UnitOfWork) async throws -> Int {
        guard work.now >= keptAt + Self.spread, seen.revision.withLock({ $0 }) == state.revision else { return 0 }
        let page = try await ZoneRulesRepository.page(of: state.zones, after: state.reached, limit: Self.settledAtOnce, work.sql)
        try await ZoneRulesRepository.makeDue(page.users, at: work.now, work.sql)
        // After the streaks' locks, in the order every transaction locks.
        for user in page.users { try await writer.clockChanged(of: user, work) }
        if page.reached == nil {
            try await ZoneRulesRepository.turn([], work.sql)
        } else {
            try await ZoneRulesRepository.reach(page.reached, work.sql)
        }
        return max(page.users.count, 1)
    }
}

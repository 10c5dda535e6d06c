import Database
import Foundation
import Kernel

/// Where an upload is between the phone and the counted streak.
enum Step: String, CaseIterable, Sendable {
    /// Wherever.
    case anywhere
    /// Its bytes lie under `incoming/`.
    case received
    /// `media` has recorded it and makes its renditions.
    case claimed
    /// A rendition lies in the blob store; the operation does not know.
    case stored
    /// The operation is under way; `streaks` has not counted.
    case begun
    /// `streaks` has counted; `media` has not recorded.
    case counted
    /// `media` has recorded; maybe no client has been answered.
    case recorded
    /// Events wait for the broker.
    case emitting
}

/// Waits until an upload comes to a step that was not there before.
struct Watch {
    private static let pollInterval = Duration.milliseconds(1)
    private let system: ChaosSystem
    private let step: Step
    private let before: Set<String>

    init(_ step: Step, of system: ChaosSystem) async {
        (self.system, self.step) = (system, step)
        before = await Self.sight(step, system)
    }

    /// - Returns: false when the load was over before.
    func wait(while isBusy: () async -> Bool) async throws -> Bool {
        while await isBusy() {
            if await !Self.sight(step, system).isSubset(of: before) { return true }
            try await Task.sleep(for: Self.pollInterval)
        }
        return false
    }

    /// What is at this step now; nothing while the database is away.
    private static func sight(_ step: Step, _ system: ChaosSystem) async -> Set<String> {
        do {
            switch step {
            case .anywhere: return []
            case .received: return Set(system.incoming())
            case .claimed, .stored:
                let rows = try await system.database.query(
                    "SELECT id::text, display_key FROM media.snap_operation WHERE state = 0"
                )
                let found = try rows.map { try $0.decode(as: (String.self, String.self)) }
                return Set(
                    found.filter { (step == .stored) == FileManager.default.fileExists(atPath: "\(system.blobs)/\($0.1)") }.map(
                        \.0
                    )
                )
            case .begun: return try await ids(system, unfinished(isCounted: false))
            case .counted: return try await ids(system, unfinished(isCounted: true))
            case .recorded:
                return try await ids(
                    system,
                    "SELECT id::text FROM media.snap_operation WHERE state = 2 ORDER BY ended_at DESC LIMIT 40"
                )
            case .emitting:
                return try await ids(
                    system,
                    """
                    SELECT id::text FROM media.outbox WHERE published_at IS NULL
                    UNION ALL SELECT id::text FROM streaks.outbox WHERE published_at IS NULL
                    """
                )
            }
        } catch { return [] }
    }

    private static func unfinished(isCounted: Bool) -> Query {
        """
        SELECT id::text FROM media.snap_operation o
        WHERE state = 1 AND EXISTS (SELECT FROM streaks.contribution c WHERE c.operation_id = o.id) = \(isCounted)
        """
    }

    private static func ids(_ system: ChaosSystem, _ query: Query) async throws -> Set<String> {
        Set(try await system.database.query(query).map { try $0.decode(as: String.self) })
    }
}

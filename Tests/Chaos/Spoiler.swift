import Foundation

/// Does what must never happen, so that it can be seen that a run would notice.
struct Spoiler: Sendable {
    let system: ChaosSystem

    /// A snap is missing, one is counted twice, one notified twice, and bytes belong to no user.
    func spoil() async throws {
        let statements = [
            "DELETE FROM media.streak_snap WHERE snap_id = (SELECT min(snap_id::text)::uuid FROM media.streak_snap)",
            "UPDATE streaks.user_stats SET total_photos = total_photos + 1 WHERE user_id = (SELECT min(user_id::text)::uuid FROM streaks.user_stats)",
            """
            INSERT INTO notifications.notification (id, user_id, kind, wording, count, others, amount, subject, emoji, created_at)
            SELECT gen_random_uuid(), user_id, kind, wording, count, others, amount, subject, emoji, created_at
            FROM notifications.notification WHERE kind = 3 LIMIT 1
            """,
        ]
        for statement in statements { _ = try await system.database.execute(.init(stringLiteral: statement)) }
        let folder = "\(system.blobs)/snaps/\(UUID().uuidString.lowercased())/2026-01-01/\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(filePath: folder + "/display.jpg"))
    }
}

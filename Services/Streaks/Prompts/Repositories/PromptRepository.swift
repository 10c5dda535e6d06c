internal import Database
internal import Kernel
internal import StreaksDomain

/// A streak's own prompts as they are stored (PW-1).
struct StoredPrompts: Sendable {
    let prompts: CustomPrompts
    let setBy: UserID
    let setAt: Instant
    /// Whether the member who set them is on a premium plan: otherwise the built-in ones are shown.
    let isActive: Bool
}

/// The prompts that members have written for their streaks.
enum PromptRepository {
    static func find(_ streak: StreakID, now: Instant, _ sql: some QueryExecutor) async throws -> StoredPrompts? {
        let rows = try await sql.query(
            """
            SELECT texts, emojis, set_by, set_at, EXISTS (SELECT FROM entitlement_replica e
                WHERE e.user_id = set_by AND e.is_premium AND (e.expires_at IS NULL OR e.expires_at > \(now)))
            FROM streak_prompts WHERE streak_id = \(streak)
            """
        )
        guard let row = rows.first else { return nil }
        let entries = zip(try row.get(at: 0, as: [String].self), try row.get(at: 1, as: [String?].self))
        guard let prompts = CustomPrompts(stored: entries.map { CustomPrompts.Entry(text: $0, emoji: $1) }) else { return nil }
        return StoredPrompts(
            prompts: prompts,
            setBy: try row.get(at: 2),
            setAt: try row.get(at: 3),
            isActive: try row.get(at: 4)
        )
    }

    /// Puts a list in the place of the one before.
    static func store(_ prompts: CustomPrompts, of streak: StreakID, by user: UserID, now: Instant, _ sql: Transaction)
        async throws
    {
        _ = try await sql.execute(
            """
            INSERT INTO streak_prompts (streak_id, set_by, set_at, texts, emojis)
            VALUES (\(streak), \(user), \(now), \(prompts.entries.map(\.text)), \(prompts.entries.map(\.emoji)))
            ON CONFLICT (streak_id) DO UPDATE SET set_by = EXCLUDED.set_by, set_at = EXCLUDED.set_at, texts = EXCLUDED.texts,
                emojis = EXCLUDED.emojis
            """
        )
    }

    static func delete(of streak: StreakID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM streak_prompts WHERE streak_id = \(streak)")
    }
}

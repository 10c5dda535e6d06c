package import Database
package import Kernel

/// What becomes of streaks when an account goes (AU-7), and what its owner takes with them (AU-10).
///
/// A new table with something of a person in it belongs into `erase` and `export`.
package enum DepartureRepository {
    /// Removes what is a person's alone. A streak was the friend's too: its dates stay, with a bare id, until that account is gone as well.
    static func erase(_ user: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "INSERT INTO purged_user (user_id, purged_at) VALUES (\(user), \(now)) ON CONFLICT DO NOTHING"
        )
        _ = try await sql.execute("DELETE FROM zone_change WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM reminder_schedule WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM streak_prompts WHERE set_by = \(user)")
        _ = try await sql.execute("DELETE FROM user_stats WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM achievement WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM entitlement_replica WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM recovery_operation WHERE user_id = \(user)")
        let orphans = try await sql.query(
            """
            SELECT s.id FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = \(user) AND NOT EXISTS (
                SELECT FROM streak_member other LEFT JOIN purged_user p USING (user_id)
                WHERE other.streak_id = s.id AND p.user_id IS NULL)
            """
        ).map { try $0.decode(as: StreakID.self) }
        _ = try await sql.execute("DELETE FROM streak WHERE id = ANY(\(orphans))")
    }

    /// What this service holds about a person: a JSON object. Friends appear with their ids only, and what they posted not at all.
    package static func export(_ user: UserID, _ database: Database) async throws -> String {
        let rows = try await database.query(
            """
            SELECT jsonb_build_object(
                'streaks', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('id', s.id,
                        'friend_id', (SELECT user_id FROM streak_member f WHERE f.streak_id = s.id AND f.user_id <> \(user) LIMIT 1), 'started_at', s.started_at,
                        'status', CASE s.status WHEN 1 THEN 'active' WHEN 2 THEN 'broken' ELSE 'ended' END,
                        'current_count', s.current_count, 'longest_count', s.longest_count,
                        'last_completed_date', s.last_completed_date, 'broken_at', s.broken_at,
                        'broken_by_you', coalesce(s.broken_by = \(user), false), 'ended_at', s.ended_at,
                        'your_snaps', coalesce((
                            SELECT jsonb_object_agg(c.on_date::text, c.received_at) FROM contribution c
                            WHERE c.streak_id = s.id AND c.user_id = \(user)), '{}'),
                        'your_recoveries', coalesce((
                            SELECT jsonb_agg(jsonb_build_object('used_at', r.used_at, 'from_date', r.from_date,
                                'through_date', r.through_date, 'returned_at', r.returned_at) ORDER BY r.used_at)
                            FROM streak_cover r WHERE r.streak_id = s.id AND r.user_id = \(user)), '[]')) ORDER BY s.started_at, s.id)
                    FROM streak_member m JOIN streak s ON s.id = m.streak_id WHERE m.user_id = \(user)), '[]'),
                'time_zones', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('since', since, 'zone', zone) ORDER BY since)
                    FROM zone_change WHERE user_id = \(user)), '[]'),
                'total_photos', coalesce((SELECT total_photos FROM user_stats WHERE user_id = \(user)), 0),
                'on_time_photos', coalesce((SELECT on_time_photos FROM user_stats WHERE user_id = \(user)), 0),
                'recoveries_used', coalesce((SELECT recoveries_used FROM user_stats WHERE user_id = \(user)), 0),
                'ended_broken_streaks', coalesce((SELECT ended_breaks FROM user_stats WHERE user_id = \(user)), 0),
                'achievements', coalesce((
                    SELECT jsonb_object_agg(kind, earned_at) FROM achievement WHERE user_id = \(user)), '{}'),
                'prompts', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('streak_id', streak_id, 'set_at', set_at, 'texts', texts, 'emojis', emojis)
                        ORDER BY set_at)
                    FROM streak_prompts WHERE set_by = \(user)), '[]'),
                'told_of', (
                    SELECT jsonb_build_object('window_opened', opened_for, 'window_closing', closing_for, 'at_risk', ending_for)
                    FROM reminder_schedule WHERE user_id = \(user)))::text
            """
        )
        guard let json = try rows.first?.decode(as: String.self) else { throw ServiceError.internal }
        return json
    }
}

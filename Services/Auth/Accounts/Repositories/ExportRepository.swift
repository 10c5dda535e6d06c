internal import Database
internal import Kernel

/// What this service holds about one person (AU-10). No hash of a password or token leaves it.
struct ExportRepository: Sendable {
    let database: Database

    /// A JSON object; nil when there is no such account.
    func export(_ user: UserID) async throws -> String? {
        try await database.query(
            """
            SELECT jsonb_build_object(
                'account', jsonb_build_object('id', a.id, 'email', a.email, 'username', a.username, 'display_name', a.display_name,
                    'avatar_key', nullif(a.avatar_key, ''), 'time_zone', a.time_zone, 'time_zone_since', a.time_zone_since,
                    'window_start_hour', a.window_start_hour, 'is_admin', a.is_admin, 'terms_version', a.terms_version, 'terms_accepted_at', a.terms_accepted_at,
                    'created_at', a.created_at, 'updated_at', a.updated_at, 'suspended_until', a.suspended_until),
                'sessions', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('id', s.id, 'created_at', s.created_at, 'expires_at', s.expires_at,
                        'revoked_at', s.revoked_at) ORDER BY s.created_at)
                    FROM session s WHERE s.account_id = a.id), '[]'),
                'moderation', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('action', CASE m.action WHEN 3 THEN 'suspend' ELSE 'ban' END,
                        'taken_at', m.taken_at, 'until', m.until) ORDER BY m.taken_at)
                    FROM moderation_taken m WHERE m.account_id = a.id), '[]'),
                'apple', coalesce((
                    SELECT jsonb_agg(jsonb_build_object('subject', i.subject, 'consented_at', i.consented_at,
                        'revoked_at', i.revoked_at) ORDER BY i.consented_at)
                    FROM apple_identity i WHERE i.account_id = a.id), '[]'),
                'statistics', (
                    SELECT jsonb_build_object('active_streaks', t.active_streaks, 'longest_streak', t.longest_streak,
                        'total_photos', t.total_photos)
                    FROM streak_stats t WHERE t.user_id = a.id),
                'plan', (
                    SELECT jsonb_build_object('is_premium', e.is_premium, 'expires_at', e.expires_at)
                    FROM entitlement_replica e WHERE e.user_id = a.id))::text
            FROM account a WHERE a.id = \(user)
            """
        ).first?.decode(as: String.self)
    }
}

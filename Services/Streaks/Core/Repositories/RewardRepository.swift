package import Database
package import Kernel
package import StreaksDomain

/// What users have earned by streaks of their own, in the order they show it (CI-5). Several features read it.
package enum RewardRepository {
    /// Something earned, with its user.
    package struct Earned<Reward: Hashable & Sendable>: Hashable, Sendable {
        package let user: UserID
        package let reward: Reward

        package init(_ user: UserID, _ reward: Reward) { (self.user, self.reward) = (user, reward) }
    }

    /// The badges of a user, with when each was earned.
    package static func badges(of user: UserID, _ sql: some QueryExecutor) async throws -> [Badge: Instant] {
        var found: [Badge: Instant] = [:]
        for row in try await sql.query("SELECT badge, earned_at FROM badge WHERE user_id = \(user)") {
            let (name, instant) = try row.decode(as: (String.self, Instant.self))
            if let badge = Badge(rawValue: name) { found[badge] = instant }
        }
        return found
    }

    /// The badges that a user has earned at an instant: by the changes of one transaction.
    package static func badges(of user: UserID, earnedAt instant: Instant, _ sql: some QueryExecutor) async throws -> [Badge] {
        try await sql.query("SELECT badge FROM badge WHERE user_id = \(user) AND earned_at = \(instant) ORDER BY badge")
            .compactMap { Badge(rawValue: try $0.decode(as: String.self)) }
    }

    /// The badges of these users, in the order of the list of badges; a user without any is absent.
    package static func badges(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: [Badge]] {
        var found: [UserID: [Badge]] = [:]
        for row in try await sql.query("SELECT user_id, badge FROM badge WHERE user_id = ANY(\(users))") {
            let (user, name) = try row.decode(as: (UserID.self, String.self))
            if let badge = Badge(rawValue: name) { found[user, default: []].append(badge) }
        }
        return found.mapValues { mine in Badge.allCases.filter(mine.contains) }
    }

    /// What a user has opened.
    package struct Opened: Hashable, Sendable {
        package let at: Instant
        /// The user has switched it off.
        package let isOff: Bool
    }

    /// The unlocks of a user.
    package static func unlocks(of user: UserID, _ sql: some QueryExecutor) async throws -> [Unlock: Opened] {
        var found: [Unlock: Opened] = [:]
        for row in try await sql.query("SELECT unlock, earned_at, is_off FROM unlock WHERE user_id = \(user)") {
            let (name, instant, isOff) = try row.decode(as: (String.self, Instant.self, Bool.self))
            if let unlock = Unlock(rawValue: name) { found[unlock] = Opened(at: instant, isOff: isOff) }
        }
        return found
    }

    /// The counts of the milestones whose celebration a user has seen.
    package static func celebrated(by user: UserID, _ sql: some QueryExecutor) async throws -> [Int: Instant] {
        var found: [Int: Instant] = [:]
        for row in try await sql.query("SELECT count, celebrated_at FROM celebration WHERE user_id = \(user)") {
            let (count, instant) = try row.decode(as: (Int32.self, Instant.self))
            found[Int(count)] = instant
        }
        return found
    }

    /// What everyone sees of these users' rewards; a user without any is absent.
    ///
    /// - Parameter plans: who is known to be premium or not, whatever the replica says.
    package static func shown(
        of users: [UserID],
        now: Instant,
        plans: [UserID: Bool] = [:],
        _ sql: some QueryExecutor
    ) async throws -> [UserID: PublicRewards] {
        let badges = try await badges(of: users, sql)
        let rows = try await sql.query(
            """
            SELECT person, u.unlock, u.is_off, p.flame, coalesce(e.is_premium AND (e.expires_at IS NULL OR e.expires_at > \(now)), false)
            FROM unnest(\(users)) AS person LEFT JOIN unlock u ON u.user_id = person LEFT JOIN public_rewards p ON p.user_id = person
            LEFT JOIN entitlement_replica e ON e.user_id = person
            """
        )
        var choices: [UserID: PublicRewards.Choices] = [:]
        for row in rows {
            let (user, name, isOff, flame, isPremium) = try row.decode(
                as: (UserID.self, String?.self, Bool?.self, String?.self, Bool.self)
            )
            var choice = choices[user] ?? PublicRewards.Choices()
            choice.isPremium = plans[user] ?? isPremium
            choice.flame = flame.flatMap(PublicRewards.Flame.init)
            if let unlock = name.flatMap(Unlock.init) {
                choice.earned.insert(unlock)
                if isOff == true { choice.off.insert(unlock) }
            }
            choices[user] = choice
        }
        return choices.reduce(into: [:]) { shown, entry in
            let mine = badges[entry.key] ?? []
            guard !mine.isEmpty || entry.value != PublicRewards.Choices() else { return }
            shown[entry.key] = PublicRewards(badges: mine, entry.value)
        }
    }
}

extension RewardRepository {
    /// Notes badges. - Returns: those that are new.
    static func add(_ badges: [Earned<Badge>], at now: Instant, _ sql: Transaction) async throws -> [Earned<Badge>] {
        try await add(badges, to: "badge", at: now, sql)
    }

    /// The same of unlocks.
    static func add(_ unlocks: [Earned<Unlock>], at now: Instant, _ sql: Transaction) async throws -> [Earned<Unlock>] {
        try await add(unlocks, to: "unlock", at: now, sql)
    }

    /// In one order, so that no two transactions wait for each other.
    ///
    /// - Parameter table: its column for the reward has the same name.
    private static func add<Reward: RawRepresentable<String>>(
        _ rewards: [Earned<Reward>],
        to table: String,
        at now: Instant,
        _ sql: Transaction
    ) async throws -> [Earned<Reward>] {
        let (users, names) = (rewards.map(\.user), rewards.map(\.reward.rawValue))
        let rows = try await sql.query(
            """
            INSERT INTO \(identifier: table) (user_id, \(identifier: table), earned_at)
            SELECT user_id, reward, \(now) FROM unnest(\(users), \(names)) AS earned (user_id, reward)
            WHERE NOT EXISTS (SELECT FROM purged_user p WHERE p.user_id = earned.user_id) ORDER BY user_id, reward
            ON CONFLICT DO NOTHING RETURNING user_id, \(identifier: table)
            """
        )
        return try rows.compactMap { row in
            let (user, name) = try row.decode(as: (UserID.self, String.self))
            return Reward(rawValue: name).map { Earned(user, $0) }
        }
    }

    /// The next version of what everyone sees of each of these users; one who was purged is absent.
    static func nextVersions(of users: [UserID], _ sql: Transaction) async throws -> [UserID: Int64] {
        let rows = try await sql.query(
            """
            INSERT INTO public_rewards AS known (user_id, version)
            SELECT id, 1 FROM unnest(\(users.sorted())) AS person (id)
            WHERE NOT EXISTS (SELECT FROM purged_user p WHERE p.user_id = person.id) ORDER BY id
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1 RETURNING user_id, version
            """
        )
        return Dictionary(try rows.map { try $0.decode(as: (UserID.self, Int64.self)) }) { first, _ in first }
    }
}

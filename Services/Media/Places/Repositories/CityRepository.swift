internal import Database
internal import Kernel
internal import MediaAPI
internal import MediaDomain

/// Saved cities (PL-7).
struct CityRepository: Sendable {
    let database: Database

    /// A user's cities, newest first, and the favorite.
    func all(of user: UserID) async throws -> SavedCitiesReply { try await Self.all(of: user, database) }

    /// The same where a change is being made.
    static func all(of user: UserID, _ executor: any QueryExecutor) async throws -> SavedCitiesReply {
        var reply = SavedCitiesReply()
        let rows = try await executor.query(
            """
            SELECT name, latitude, longitude, place, false AS is_favorite FROM place_city WHERE user_id = \(user)
            UNION ALL SELECT name, latitude, longitude, 0, true FROM place_favorite_city WHERE user_id = \(user) ORDER BY place DESC
            """
        )
        for row in rows {
            let city = SavedCity(
                name: try row.get("name"),
                latitude: try row.get("latitude"),
                longitude: try row.get("longitude")
            )
            if try row.get("is_favorite") { reply.favorite = city } else { reply.recent.append(city) }
        }
        return reply
    }

    /// Lets one change of a user's cities at a time happen: two at once would leave one too many.
    static func lock(_ user: UserID, _ sql: Transaction) async throws { try await sql.lock(named: "cities of \(user)") }

    /// Puts a city at the head of the list, in place of one of the same name, and keeps the newest `most`.
    static func save(_ city: City, of user: UserID, most: Int, _ sql: Transaction) async throws {
        try sql.enqueue(
            """
            INSERT INTO place_city (user_id, name_key, name, latitude, longitude, place)
            SELECT \(user), normalize(\(city.key), NFC), \(city.name), \(city.position.latitude), \(city.position.longitude),
                (SELECT coalesce(max(place), 0) + 1 FROM place_city WHERE user_id = \(user))
            ON CONFLICT (user_id, name_key) DO UPDATE SET name = EXCLUDED.name, latitude = EXCLUDED.latitude,
                longitude = EXCLUDED.longitude, place = EXCLUDED.place
            """
        )
        try sql.enqueue(
            """
            DELETE FROM place_city WHERE user_id = \(user) AND name_key IN
                (SELECT name_key FROM place_city WHERE user_id = \(user) ORDER BY place DESC OFFSET \(most))
            """
        )
    }

    /// Takes the city of a name out of the list, and clears the favorite if it is this one.
    static func remove(_ key: String, of user: UserID, _ sql: Transaction) async throws {
        try sql.enqueue("DELETE FROM place_city WHERE user_id = \(user) AND name_key = normalize(\(key), NFC)")
        try sql.enqueue("DELETE FROM place_favorite_city WHERE user_id = \(user) AND name_key = normalize(\(key), NFC)")
    }

    /// Makes a city the favorite in place of the one before.
    static func prefer(_ city: City, of user: UserID, _ sql: Transaction) async throws {
        try sql.enqueue(
            """
            INSERT INTO place_favorite_city (user_id, name_key, name, latitude, longitude)
            VALUES (\(user), normalize(\(city.key), NFC), \(city.name), \(city.position.latitude), \(city.position.longitude))
            ON CONFLICT (user_id) DO UPDATE SET name_key = EXCLUDED.name_key, name = EXCLUDED.name, latitude = EXCLUDED.latitude,
                longitude = EXCLUDED.longitude
            """
        )
    }

    static func clearFavorite(of user: UserID, _ sql: Transaction) async throws {
        try sql.enqueue("DELETE FROM place_favorite_city WHERE user_id = \(user)")
    }
}

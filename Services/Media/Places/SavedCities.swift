internal import Bus
internal import Database
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import ServiceRuntime
internal import Wire

/// The cities of a user (PL-7): at most ten that were searched for, and one favorite.
struct SavedCities: Sendable {
    /// Most cities in the list.
    static let most = 10

    let repository: CityRepository
    let mutations: Mutations

    /// What a change answers: the cities as they are after it.
    ///
    /// - Parameter change: runs while no other change of the user's cities does.
    func once<Request: Message>(
        _ context: CallContext,
        _ request: Request,
        _ change: @escaping @Sendable (UserID, Transaction) async throws -> Void
    ) async throws -> Once<SavedCitiesReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            try await CityRepository.lock(user, work.sql)
            try await change(user, work.sql)
            return try await CityRepository.all(of: user, work.sql)
        }
    }
}

/// A city as a user has named it.
struct City: Sendable {
    let name: String
    let position: Coordinate

    /// What it is compared by.
    var key: String { PlaceText.key(name) }

    /// - Throws: `VALIDATION_ERROR` naming each field that is wrong.
    init(name: String, latitude: Double?, longitude: Double?) throws {
        var check = FieldCheck()
        let name = try check.take { try PlaceText.city(name, field: "name") }
        let position = try check.take { try Coordinate(latitude: latitude, longitude: longitude) }
        try check.finish()
        guard let name, let position else { throw ServiceError.internal }
        (self.name, self.position) = (name, position)
    }
}

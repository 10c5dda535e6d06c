internal import Bus
internal import Kernel
internal import MediaAPI

/// Makes a city the caller's favorite (PL-7).
struct SetFavoriteCity: MutationHandler {
    let cities: SavedCities

    func handle(_ request: SetFavoriteCityRequest, _ context: CallContext) async throws -> Once<SavedCitiesReply> {
        let city = try Self.city(request)
        return try await cities.once(context, request) { user, sql in try await CityRepository.prefer(city, of: user, sql) }
    }

    func problems(of request: SetFavoriteCityRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.city(request) }
    }

    private static func city(_ request: SetFavoriteCityRequest) throws -> City {
        try City(name: request.name, latitude: request.latitude, longitude: request.longitude)
    }
}

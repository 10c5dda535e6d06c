internal import Bus
internal import Kernel
internal import MediaAPI

/// Puts a city at the head of the caller's list (PL-7).
struct SaveCity: MutationHandler {
    let cities: SavedCities

    func handle(_ request: SaveCityRequest, _ context: CallContext) async throws -> Once<SavedCitiesReply> {
        let city = try Self.city(request)
        return try await cities.once(context, request) { user, sql in
            try await CityRepository.save(city, of: user, most: SavedCities.most, sql)
        }
    }

    func problems(of request: SaveCityRequest) -> [ServiceError.Detail] { FieldCheck.problems { _ = try Self.city(request) } }

    private static func city(_ request: SaveCityRequest) throws -> City {
        try City(name: request.name, latitude: request.latitude, longitude: request.longitude)
    }
}

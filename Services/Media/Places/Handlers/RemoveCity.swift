internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain

/// Takes a city out of the caller's list, and clears the favorite if it is this one (PL-7).
struct RemoveCity: MutationHandler {
    let cities: SavedCities

    func handle(_ request: RemoveCityRequest, _ context: CallContext) async throws -> Once<SavedCitiesReply> {
        let key = PlaceText.key(try PlaceText.city(request.name, field: "name"))
        return try await cities.once(context, request) { user, sql in try await CityRepository.remove(key, of: user, sql) }
    }
}

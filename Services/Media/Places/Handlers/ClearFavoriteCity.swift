internal import Bus
internal import Kernel
internal import MediaAPI

/// Clears the caller's favorite (PL-7).
struct ClearFavoriteCity: MutationHandler {
    let cities: SavedCities

    func handle(_ request: ClearFavoriteCityRequest, _ context: CallContext) async throws -> Once<SavedCitiesReply> {
        try await cities.once(context, request) { user, sql in try await CityRepository.clearFavorite(of: user, sql) }
    }
}

internal import Bus
internal import Kernel
internal import MediaAPI

/// The caller's cities (PL-7).
struct ListSavedCities: QueryHandler {
    let cities: SavedCities

    func handle(_: ListSavedCitiesRequest, _ context: CallContext) async throws -> SavedCitiesReply {
        try await cities.repository.all(of: try context.requireUser())
    }
}

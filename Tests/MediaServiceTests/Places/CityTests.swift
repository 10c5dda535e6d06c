import Bus
import Kernel
import MediaAPI
import TestSupport
import Testing

@testable import MediaPlaces

/// Saved cities (PL-7).
@Suite(.timeLimit(.minutes(2))) struct CityTests {
    private struct Cities {
        let world: PlaceWorld
        let user: UInt64
        private var cities: SavedCities {
            SavedCities(repository: CityRepository(database: world.database), mutations: world.mutations)
        }
        private var context: CallContext { PlaceWorld.context(PlaceWorld.user(user)) }

        init(_ world: PlaceWorld, _ user: UInt64) { (self.world, self.user) = (world, user) }

        @discardableResult
        func save(_ name: String, _ latitude: Double? = 1, _ longitude: Double? = 2) async throws -> SavedCitiesReply {
            let request = SaveCityRequest(name: name, latitude: latitude, longitude: longitude)
            return try await SaveCity(cities: cities).handle(request, context).reply
        }

        @discardableResult
        func remove(_ name: String) async throws -> SavedCitiesReply {
            try await RemoveCity(cities: cities).handle(RemoveCityRequest(name: name), context).reply
        }

        @discardableResult
        func prefer(_ name: String?) async throws -> SavedCitiesReply {
            guard let name else {
                return try await ClearFavoriteCity(cities: cities).handle(ClearFavoriteCityRequest(), context).reply
            }
            let request = SetFavoriteCityRequest(name: name, latitude: 5, longitude: 6)
            return try await SetFavoriteCity(cities: cities).handle(request, context).reply
        }

        func all() async throws -> SavedCitiesReply {
            try await ListSavedCities(cities: cities).handle(ListSavedCitiesRequest(), context)
        }
    }

    @Test func `a city goes to the head of the list, once whatever its case`() async throws {
        try await PlaceWorld.with { world in
            let cities = Cities(world, 1)
            for name in ["Berlin", "Weißenfels", "Malmö"] { try await cities.save(name) }
            #expect(try await cities.all().recent.map(\.name) == ["Malmö", "Weißenfels", "Berlin"])
            // The second ö is two scalars.
            let reply = try await cities.save(" MALMO\u{308} ", 3, 4)
            #expect(reply.recent.map(\.name) == ["MALMO\u{308}", "Weißenfels", "Berlin"] && reply.recent[0].latitude == 3)
            #expect(try await cities.save("WEISSENFELS").recent.map(\.name) == ["WEISSENFELS", "MALMO\u{308}", "Berlin"])
            #expect(try await Cities(world, 2).all() == SavedCitiesReply())
        }
    }

    @Test func `the list keeps ten, also when twenty are saved at once, and never clears the favorite`() async throws {
        try await PlaceWorld.with { world in
            let cities = Cities(world, 1)
            try await cities.save("Home")
            try await cities.prefer("home")
            for number in 1...10 { try await cities.save("City \(number)") }
            #expect(try await cities.all().recent.map(\.name) == (1...10).reversed().map { "City \($0)" })
            #expect(try await cities.all().favorite?.name == "home")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 20..<40 { group.addTask { try await cities.save("Town \(number)") } }
                try await group.waitForAll()
            }
            let after = try await cities.all()
            #expect(after.recent.count == 10 && after.recent.allSatisfy { $0.name.hasPrefix("Town") })
            #expect(after.favorite?.name == "home")
        }
    }

    @Test func `removing a city clears the favorite of its name, and no other`() async throws {
        try await PlaceWorld.with { world in
            let cities = Cities(world, 1)
            for name in ["Oslo", "Paris"] { try await cities.save(name) }
            try await cities.prefer("Oslo")
            #expect(try await cities.remove("paris").favorite?.name == "Oslo")
            #expect(try await cities.remove("nowhere").recent.map(\.name) == ["Oslo"])
            #expect(try await cities.remove("OSLO") == SavedCitiesReply())
            try await cities.prefer("Rome")
            #expect(try await cities.prefer("Lima").favorite?.name == "Lima", "there is one")
            #expect(try await cities.prefer(nil).favorite == nil)
            #expect(try await cities.prefer(nil) == SavedCitiesReply())
        }
    }

    @Test func `a city has a name and a place`() async throws {
        try await PlaceWorld.with { world in
            let cities = Cities(world, 1)
            for (name, latitude, longitude, fields) in [
                (" ", 1, 2, ["name"]), ("a\nb", 1, 2, ["name"]), ("a\u{7}", 1, 2, ["name"]), ("Rome", nil, 2, ["latitude"]),
                ("Rome", 1, 200, ["longitude"]), (" ", nil, 2, ["name", "latitude"]),
            ] as [(String, Double?, Double?, [String])] {
                let error = await #expect(throws: ServiceError.self) { try await cities.save(name, latitude, longitude) }
                #expect(error?.details.map(\.field) == fields)
            }
            let left = try await cities.all()
            #expect(left == SavedCitiesReply())
        }
    }
}

import CPlaceNames
import Kernel
import MediaDomain
import TestSupport
import Testing

/// Countries by polygon and cities near by (PL-2).
struct PlaceNameTests {
    private static let names = PlaceNames(UnsafeRawBufferPointer(start: place_names_start(), count: place_names_size()))

    private func name(_ latitude: Double, _ longitude: Double) throws -> PlaceName? {
        try #require(Self.names).name(of: place(latitude, longitude))
    }

    @Test func `a place has its country and the large city near it`() throws {
        for (latitude, longitude, code, country, city) in [
            (52.5163, 13.3777, "DE", "Germany", "Berlin"), (52.3989, 13.0657, "DE", "Germany", "Potsdam"),
            (48.8584, 2.2945, "FR", "France", "Paris"), (35.6586, 139.7454, "JP", "Japan", "Tokyo"),
            (-33.8568, 151.2153, "AU", "Australia", "Sydney"), (40.6892, -74.0445, "US", "United States", "New York City"),
            (-22.9519, -43.2105, "BR", "Brazil", "Rio de Janeiro"), (64.1466, -21.9426, "IS", "Iceland", "Reykjavík"),
        ] {
            let found = try #require(try name(latitude, longitude), "\(city)")
            #expect((found.countryCode, found.country, found.city) == (code, country, city))
        }
    }

    /// On both sides of borders, a few kilometres from them; enclaves, holes, the antimeridian, a pole.
    @Test func `borders are where countries meet`() throws {
        for (latitude, longitude, code) in [
            // Frankfurt (Oder) and Słubice, Strasbourg and Kehl, Detroit and Windsor, El Paso and Ciudad Juárez
            (52.340, 14.500, "DE"), (52.345, 14.640, "PL"), (48.575, 7.700, "FR"), (48.575, 7.870, "DE"),
            (42.360, -83.080, "US"), (42.280, -83.000, "CA"), (31.800, -106.450, "US"), (31.660, -106.430, "MX"),
            // Vatican, San Marino, Lesotho in South Africa, the Gambia in Senegal, Kaliningrad, Gibraltar, Monaco
            (43.942, 12.458, "SM"), (-29.500, 28.200, "LS"), (-28.500, 28.200, "ZA"), (13.450, -15.500, "GM"),
            (14.000, -15.500, "SN"), (54.710, 20.510, "RU"), (43.740, 7.427, "MC"),
            // Both sides of the antimeridian, and the pole
            (66.0, 179.0, "RU"), (66.0, -171.0, "RU"), (-16.8, 179.98, "FJ"), (-16.8, -179.98, "FJ"), (-90, 0, "AQ"),
        ] { #expect(try name(latitude, longitude)?.countryCode == code, "\(latitude) \(longitude)") }
    }

    @Test func `the sea near a coast belongs to it, the open sea to none, and far from cities there is none`() throws {
        #expect(try name(53.62, 6.98)?.countryCode == "DE")
        // A pier of 2 km, and a ship.
        #expect(try name(51.51, 0.72)?.countryCode == "GB")
        for (latitude, longitude) in [(45.0, -30), (0, 0), (-60, 100), (89.9, 20)] as [(Double, Double)] {
            #expect(try name(latitude, longitude) == nil)
        }
        let sahara = try #require(try name(24.8, 7.6))
        #expect(sahara.countryCode == "DZ" && sahara.city == nil)
        #expect(try #require(Self.names).country(code: "DE") == "Germany")
        #expect(try #require(Self.names).country(code: "XX") == nil)
    }

    @Test func `no place fails, and the antimeridian is one line`() throws {
        let names = try #require(Self.names)
        var random = Seeded(81)
        var known = 0
        for _ in 0..<400 {
            let point = random.place()
            if names.name(of: point) != nil { known += 1 }
        }
        #expect(known > 40)
        for latitude in stride(from: -80.0, through: 80, by: 8) {
            #expect(names.name(of: place(latitude, 180)) == names.name(of: place(latitude, -180)))
        }
    }

    @Test func `bytes that are no such file are refused`() throws {
        let whole = UnsafeRawBufferPointer(start: place_names_start(), count: place_names_size())
        for count in [0, 3, 20, 5_000, whole.count / 2, whole.count - 1] {
            #expect(PlaceNames(UnsafeRawBufferPointer(rebasing: whole.prefix(count))) == nil, "\(count)")
        }
    }

    @Test func `words are case-folded runs of letters and digits`() {
        #expect(PlaceText.words("Evening, at the GATE — evening!") == ["evening", "at", "the", "gate"])
        #expect(PlaceText.words("Straße №9 東京タワー 🌉") == ["strasse", "9", "東京タワー"])
        #expect(PlaceText.words(" ,.!🌉 ") == [])
        #expect(PlaceText.words(String(repeating: "a", count: 400)).map(\.count) == [50])
    }
}

import Kernel
import MediaDomain
import TestSupport
import Testing

struct GeohashTests {
    @Test(arguments: [
        (57.64911, 10.40744, "u4pruydqqvj"), (42.605, -5.603, "ezs42"), (37.8324, 112.5584, "ww8p1r4t8"),
        (0, 0, "s00000000000"), (-90, -180, "000000000000"), (90, 179.999_999_999, "zzzzzzzzzzzz"), (48.669, -4.329, "gbsuv"),
        (-25.382708, -49.265506, "6gkzwgjzn820"), (90, 0, "upbpbpbpbpbp"),
    ]) func `encodes as others do`(latitude: Double, longitude: Double, text: String) {
        #expect(Geohash(place(latitude, longitude), length: text.utf8.count).description == text)
    }

    @Test func `decodes to the edges of the cell`() throws {
        let box = try Geohash(parsing: "ezs42", field: "geohash").box
        #expect(abs(box.south - 42.583_007_8) < 1e-6 && abs(box.north - 42.626_953_1) < 1e-6)
        #expect(abs(box.west + 5.625) < 1e-6 && abs(box.east + 5.581_054_7) < 1e-6)
        #expect(try Geohash(parsing: "z", field: "geohash").box == GeoBox(south: 45, west: 135, north: 90, east: 180))
        #expect(try Geohash(parsing: "EZS42", field: "geohash") == Geohash(parsing: "ezs42", field: "geohash"))
    }

    @Test func `refuses other texts, naming the field`() {
        for text in ["", "a", "ezs4i", "ezs 4", "ezs42ezs42ezs", "é", "l", "o"] {
            let error = #expect(throws: ServiceError.self) { try Geohash(parsing: text, field: "geohash") }
            #expect(error?.details.first?.field == "geohash", "\(text)")
        }
        #expect(throws: ServiceError.self) { try Geohash(parsing: "ezs42ez", field: "geohash", longest: 6) }
    }

    @Test func `every point is in its cell, longer ones begin with shorter ones, and keys agree`() throws {
        var random = Seeded(21)
        for _ in 0..<1_500 {
            let point = random.place()
            let other = random.place(near: point, within: random.pick([0.1, 50, 2_000, 500_000]))
            var longest = Geohash(point, length: 12).description[...]
            for length in Geohash.lengths.reversed() {
                let hash = Geohash(point, length: length)
                #expect(hash.description == longest)
                #expect(hash.box.contains(point) && hash.contains(point))
                #expect(try Geohash(parsing: hash.description, field: "") == hash)
                for candidate in [point, other] {
                    #expect(hash.keys.contains(PlaceKey(candidate).value) == hash.contains(candidate))
                    let isInside = Geohash(candidate, length: length).description == longest
                    #expect(hash.contains(candidate) == isInside)
                }
                longest = longest.dropLast()
            }
        }
        #expect(Geohash(place(1, 1), length: 0).length == 1 && Geohash(place(1, 1), length: 99).length == 12)
    }

    @Test func `a cell ends at the last number before its north and east edge`() {
        var random = Seeded(23)
        for _ in 0..<20_000 {
            let hash = Geohash(random.place(), length: random.pick([1, 6, 12, 12]))
            let box = hash.box
            #expect(hash.contains(place(box.south, box.west)))
            if box.north < 90 {
                #expect(
                    !hash.contains(place(box.north, box.west)) && hash.contains(place(box.north.nextDown, box.west)),
                    "\(hash)"
                )
            }
            if box.south > -90 { #expect(!hash.contains(place(box.south.nextDown, box.west)), "\(hash)") }
            #expect(!hash.contains(place(box.south, box.east)) && hash.contains(place(box.south, box.east.nextDown)), "\(hash)")
            if box.west > -180 { #expect(!hash.contains(place(box.south, box.west.nextDown)), "\(hash)") }
        }
    }
}

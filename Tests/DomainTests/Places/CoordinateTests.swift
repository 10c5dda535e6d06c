import Kernel
import MediaDomain
import TestSupport
import Testing

struct CoordinateTests {
    @Test func `takes every latitude and longitude of the earth`() throws {
        for (latitude, longitude) in [(0.0, 0.0), (90, 180), (-90, -180), (52.52, 13.405), (-33.8688, 151.2093)] {
            let point = try Coordinate(latitude: latitude, longitude: longitude)
            #expect(point.latitude == latitude)
            #expect(point.longitude == (longitude == 180 ? -180 : longitude))
        }
    }

    @Test func `refuses what is out of range or no number, naming the fields`() {
        let cases: [(Double, Double, [String])] = [
            (90.000001, 0, ["post.latitude"]), (-91, 0, ["post.latitude"]), (0, 180.1, ["post.longitude"]),
            (.nan, 0, ["post.latitude"]), (0, .infinity, ["post.longitude"]),
            (-.infinity, .nan, ["post.latitude", "post.longitude"]),
        ]
        for (latitude, longitude, fields) in cases {
            let error = #expect(throws: ServiceError.self) {
                try Coordinate(latitude: latitude, longitude: longitude, prefix: "post.")
            }
            #expect(error?.reason == "VALIDATION_ERROR")
            #expect(error?.details.map(\.field) == fields)
        }
    }

    @Test func `has one form for each point`() throws {
        let zero = try Coordinate(latitude: -0.0, longitude: -0.0)
        #expect(zero.latitude.sign == .plus && zero.longitude.sign == .plus)
        #expect(try Coordinate(latitude: 1, longitude: 180) == Coordinate(latitude: 1, longitude: -180))
        #expect(place(95, 190) == place(90, -170))
        #expect(place(.nan, .infinity) == place(0, 0))
    }

    @Test func `distances are those of the haversine formula`() {
        let cases: [(Coordinate, Coordinate, Double)] = [
            (place(0, 0), place(0, 1), 111_194.93), (place(0, 0), place(1, 0), 111_194.93),
            // Nashville and Los Angeles, the usual example of the formula.
            (place(36.12, -86.67), place(33.94, -118.40), 2_886_444.44),
            (place(90, 0), place(-90, 0), 20_015_086.80), (place(0, 179.995), place(0, -179.995), 1_111.95),
            (place(90, 10), place(90, -120), 0), (place(0, 0), place(0, 180), 20_015_086.80),
        ]
        for (one, other, metres) in cases {
            #expect(abs(one.distance(to: other) - metres) < 0.01, "\(one) \(other) \(one.distance(to: other))")
        }
    }

    @Test func `distances are metric`() {
        var random = Seeded(3)
        for _ in 0..<3_000 {
            let (a, b, c) = (random.place(), random.place(), random.place())
            #expect(a.distance(to: b) == b.distance(to: a))
            #expect(a.distance(to: a) == 0)
            #expect(a.distance(to: c) <= a.distance(to: b) + b.distance(to: c) + 0.5)
            #expect(a.distance(to: b) <= Earth.halfway)
            let metres = random.pick([0.01, 1, 2_000, 500_000])
            // The formula that moves a point knows no haversine. Directly at a pole it loses digits of the arcsine.
            let start = place(random.number(-89...89), random.number(-180...180))
            let moved = start.moved(metres, bearing: random.number(0...360))
            #expect(abs(start.distance(to: moved) - metres) < 1e-5 * max(1, metres), "\(start) \(moved)")
        }
    }
}

struct PostScoreTests {
    private let time = Instant(seconds: 1_767_225_600)

    @Test func `is the sign times the order of magnitude, and the time`() {
        let base = 1_767_225_600.0 / 45_000
        for (up, down, votes) in [
            (0, 0, 0.0), (1, 0, 0), (0, 1, 0), (10, 0, 1), (0, 10, -1), (110, 10, 2), (5, 105, -2), (2, 0, 0.301029995663981),
        ] as [(Int64, Int64, Double)] {
            #expect(abs(PostScore.value(up: up, down: down, received: time) - base - votes) < 1e-9)
        }
    }

    @Test func `ten times the votes weigh as much as 12 and a half hours`() {
        let later = PostScore.value(up: 10, down: 0, received: time + .seconds(45_000))
        #expect(abs(later - PostScore.value(up: 100, down: 0, received: time)) < 1e-9)
        // Fractions of a second decide between posts of the same second.
        #expect(
            PostScore.value(up: 3, down: 1, received: time + .milliseconds(1))
                > PostScore.value(up: 3, down: 1, received: time)
        )
    }

    @Test func `grows with up and falls with down, whatever the numbers`() {
        var random = Seeded(5)
        for _ in 0..<2_000 {
            let (up, down) = (Int64.random(in: 0...5_000, using: &random), Int64.random(in: 0...5_000, using: &random))
            let score = PostScore.value(up: up, down: down, received: time)
            #expect(PostScore.value(up: up + 1, down: down, received: time) >= score)
            #expect(PostScore.value(up: up, down: down + 1, received: time) <= score)
        }
        #expect(PostScore.value(up: .max, down: .min, received: time).isFinite)
        #expect(PostScore.value(up: .min, down: .max, received: .epoch) < -18)
    }
}

import Kernel
import MediaDomain
import TestSupport
import Testing

struct GeoBoxTests {
    @Test func `names the edges that are wrong`() {
        let cases: [(Double, Double, Double, Double, [String])] = [
            (-91, 0, 0, 0, ["box.south"]), (0, -181, 1, .nan, ["box.west", "box.east"]), (2, 0, 1, 1, ["box.south"]),
            (.nan, 0, .infinity, 1, ["box.south", "box.north"]),
        ]
        for (south, west, north, east, fields) in cases {
            let error = #expect(throws: ServiceError.self) {
                try GeoBox(south: south, west: west, north: north, east: east, prefix: "box.")
            }
            #expect(error?.details.map(\.field) == fields)
        }
    }

    @Test func `reads west, south, east, north`() throws {
        let box = try GeoBox(parsing: "13.0,52.3,13.8,52.7", field: "bbox")
        #expect((box.west, box.south, box.east, box.north) == (13, 52.3, 13.8, 52.7))
        let over = try GeoBox(parsing: "1.7e2,-10,-170,+10", field: "bbox")
        #expect(over.west == 170 && over.east == -170 && over.width == 20)
        for text in [
            "", "1,2,3", "1,2,3,4,5", "a,1,2,3", "nan,0,1,1", "0x1,0,1,1", "0,inf,1,1", " 0,0,1,1", "0,0,,1", "0,5,1,4",
            "0,0,1e999,1", "-1e999,0,0,1", String(repeating: "1,", count: 500),
        ] {
            let error = #expect(throws: ServiceError.self) { try GeoBox(parsing: text, field: "bbox") }
            #expect(error?.details.first?.field == "bbox", "\(text)")
        }
    }

    /// West and east as sent, and the edges that are meant.
    @Test(
        arguments: [
            ("170,190", 170, -170), ("-190,-170", 170, -170), ("190,200", -170, -160), ("-200,160", -180, 180),
            ("185,185", -175, -175),
            ("-200,150", 160, 150), ("530,550", 170, -170), ("-540,-190", -180, 170), ("200,540", -160, -180),
            ("-10,370", -180, 180),
            ("0,360", -180, 180), ("-180,180", -180, 180), ("170,-190", 170, 170), ("-720,1080", -180, 180),
            ("170,529.9", 170, 169.9),
            ("190,-170.5", -170, -170.5),
        ] as [(String, Double, Double)]
    )
    func `edges beyond the antimeridian are those of the same places, and a turn or more is the world`(
        edges: String,
        west: Double,
        east: Double
    ) throws {
        let sent = edges.split(separator: ",")
        let box = try GeoBox(parsing: "\(sent[0]),-10,\(sent[1]),10", field: "bbox")
        #expect(abs(box.west - west) < 1e-9 && abs(box.east - east) < 1e-9, "\(box)")
        #expect(box.south == -10 && box.north == 10)
    }

    @Test func `contains its edges, and goes on over the antimeridian`() throws {
        let box = try GeoBox(south: -10, west: 170, north: 10, east: -170)
        for point in [place(10, 170), place(-10, -170), place(0, 180), place(0, -180), place(0, 175), place(0, -175)] {
            #expect(box.contains(point))
        }
        for point in [place(0, 169.999), place(0, -169.999), place(0, 0), place(10.001, 175)] { #expect(!box.contains(point)) }
        // To the antimeridian, and no farther.
        let west = try GeoBox(south: -10, west: 170, north: 10, east: 180)
        #expect(west.contains(place(0, 180)) && west.contains(place(0, -180)) && !west.contains(place(0, -179.999)))
        let east = try GeoBox(south: -10, west: 180, north: 10, east: -170)
        #expect(east.contains(place(0, 180)) && !east.contains(place(0, 179.999)) && east.contains(place(0, -170)))
        let line = try GeoBox(south: -90, west: 180, north: 90, east: 180)
        #expect(line.width == 0 && line.contains(place(0, -180)) && !line.contains(place(0, 179)))
        #expect(GeoBox.world.contains(place(90, 180)) && GeoBox.world.contains(place(-90, 0)) && GeoBox.world.width == 360)
    }

    @Test func `its parts are the same points, without the antimeridian`() {
        var random = Seeded(8)
        for _ in 0..<2_000 {
            let box = random.box()
            let parts = box.parts
            #expect((1...2).contains(parts.count) && parts.allSatisfy { $0.west <= $0.east })
            for _ in 0..<10 {
                let point = random.chance(50) ? random.place() : random.place(near: box.center, within: 5_000)
                let isInPart = parts.contains {
                    $0.south <= point.latitude && point.latitude <= $0.north && $0.west <= point.longitude
                        && point.longitude <= $0.east
                }
                #expect(box.contains(point) == isInPart, "\(box) \(point)")
            }
            #expect(box.contains(box.center), "\(box)")
        }
    }

    @Test func `a box around a point has everything within the radius, and little else`() {
        var random = Seeded(9)
        for _ in 0..<2_000 {
            let center = random.place()
            let radius: Double = random.pick([0, 1, 150, 2_000, 50_000, 2_000_000, 12_000_000])
            let box = GeoBox(around: center, radius: radius)
            for _ in 0..<20 {
                let point = random.place(near: center, within: radius)
                guard center.distance(to: point) <= radius else { continue }
                #expect(box.contains(point), "\(center) \(radius) \(point)")
            }
            // Its edges touch the circle, unless a pole is inside.
            let degree = 111_194.926_6
            let farthest = abs(center.latitude) * degree + radius
            if farthest < 89 * degree {
                #expect(abs(box.height * degree - 2 * radius) < 0.01 + radius * 1e-4)
                let widest = 2 * radius / degree / Functions.cosine(center.latitude * .pi / 180)
                if radius <= 50_000 { #expect(box.width <= widest * 1.5 + 1e-8) }
            } else if radius > 0, farthest > 90.001 * degree {
                #expect(box.width == 360)
            }
        }
    }

    @Test func `a padded box has every point near one of its points`() {
        var random = Seeded(10)
        for _ in 0..<2_000 {
            let box = random.box()
            let metres: Double = random.pick([0, 10, 2_000, 100_000])
            let padded = box.padded(by: metres)
            for _ in 0..<10 {
                let inside = place(
                    box.south + box.height * random.number(0...1),
                    box.west + box.width * random.pick([0, 1, random.number(0...1)])
                )
                guard box.contains(inside) else { continue }
                let near = metres > 0 ? random.place(near: inside, within: metres * 0.999_999) : inside
                #expect(padded.contains(near), "\(box) \(inside)")
            }
            #expect(box.padded(by: .nan) == box && box.padded(by: -5) == box)
            #expect(box.padded(by: .infinity) == .world)
        }
    }

    @Test func `a union has both boxes and their points, and is no wider than it must be`() throws {
        var random = Seeded(19)
        for _ in 0..<3_000 {
            let (one, other) = (random.box(), random.box())
            let union = one.union(other)
            #expect(union.contains(one) && union.contains(other), "\(one) \(other)")
            #expect(union.width <= one.width + other.width + 180 && union.width >= max(one.width, other.width) - 1e-9)
            let outer = one.contains(other)
            for _ in 0..<5 {
                let point = random.chance(50) ? random.place() : other.center
                if one.contains(point) || other.contains(point) { #expect(union.contains(point)) }
                if outer, other.contains(point) { #expect(one.contains(point)) }
            }
        }
        let (east, west) = (
            try GeoBox(south: 0, west: 170, north: 1, east: 175), try GeoBox(south: 2, west: -175, north: 3, east: -170)
        )
        #expect(try east.union(west) == GeoBox(south: 0, west: 170, north: 3, east: -170))
        #expect(try west.union(east) == GeoBox(south: 0, west: 170, north: 3, east: -170))
    }

    @Test func `boxes meet where they have a point in common`() throws {
        let over = try GeoBox(south: -10, west: 170, north: 10, east: -170)
        for (west, east, meets) in [(-175.0, -100.0, true), (100, 170, true), (-169, 169, false), (175, -175, true)] {
            let other = try GeoBox(south: 0, west: west, north: 1, east: east)
            #expect(over.intersects(other) == meets && other.intersects(over) == meets)
        }
        let high = try GeoBox(south: 11, west: 170, north: 12, east: -170)
        #expect(!over.intersects(high))
    }
}

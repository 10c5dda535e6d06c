import Kernel
import Logging
import Testing

@testable import Images

@Suite struct PosterTests {
    private let painter = PosterPainter(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    /// A line on a black square of 400 pixels.
    private func line(
        _ text: String,
        font: String = "Inter Bold",
        size: Int = 60,
        least: Int? = nil,
        y: Poster.Height = .baseline(200),
        width: Int = 360
    ) -> Poster {
        let line = Poster.Line(text, font: font, size: size, leastSize: least, x: 200, y: y, width: width)
        return Poster(width: 400, height: 400, background: .init([.init(0)]), layers: [.line(line)])
    }

    private func paint(_ poster: Poster) async throws -> Picture { try Picture(try await painter.png(poster)) }

    @Test func `a poster is a PNG of its size with its gradient`() async throws {
        let gradient = Poster.Gradient([.init(0xFF0000), .init(0x0000FF)])
        let png = try await painter.png(Poster(width: 300, height: 500, background: gradient, layers: []))
        #expect(ImageFormat(sniffing: png) == .png)
        let picture = try Picture(png)
        #expect(picture.width == 300 && picture.height == 500)
        #expect(picture.at(0, 0).isNear(255, 0, 0) && picture.at(299, 499).isNear(0, 0, 255))
        let middle = picture.at(150, 250)
        #expect(middle.isNear(127, 0, 127, within: 12), "\(middle)")
    }

    @Test func `a dark gradient has no bands`() async throws {
        let gradient = Poster.Gradient([.init(0x1C1C1E), .init(0x0A0A0A)])
        let picture = try await paint(Poster(width: 64, height: 1_024, background: gradient, layers: []))
        // A band of one level would be 57 rows high; with dithering neighbours differ in nearly every block.
        let flat = (0..<127).filter { block in
            let levels = Set((0..<8).flatMap { y in (0..<8).map { picture.at($0, block * 8 + y).red } })
            return levels.count == 1
        }
        #expect(flat.count < 20, "\(flat.count) flat blocks")
    }

    @Test func `emoji have their colours`() async throws {
        let picture = try await paint(line("🔥", size: 200, y: .middle(200)))
        let hues = Set(picture.all.filter { $0.isColourful }.map { $0.hue / 20 })
        #expect(hues.count >= 2, "a flame is red, orange and yellow, a silhouette one colour: \(hues)")
    }

    @Test func `letters are of the font that was asked for`() async throws {
        let inter = try await painter.png(line("Streak 7", font: "Inter Bold"))
        let other = try await painter.png(line("Streak 7", font: "DejaVu Sans Bold"))
        let missing = try await painter.png(line("Streak 7", font: "NoSuchFamily Bold"))
        #expect(inter != other && inter != missing, "is fonts-inter installed?")
    }

    @Test(arguments: [
        "short", "A very very long name that could not be read on a card of any size, and that goes on and on",
        "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
        "محمد بن سلمان العزيز الطويل جدا جدا جدا", "名前がとても長いので入りきらない人のカード名前がとても長い", "🦄🦄🦄🦄🦄🦄🦄🦄🦄🦄🦄🦄🦄🦄",
        "<b>&amp;</b> \"quoted\" 'n' <span size='900000'>", "\u{202E}turned round\u{202C} \u{0}\u{7}\n\ttab",
        "e" + String(repeating: "\u{301}", count: 5_000),
    ]) func `a line stays in its width`(text: String) async throws {
        let picture = try await paint(line(text, size: 60, least: 40, width: 300))
        let columns = (0..<400).filter { x in (0..<400).contains { picture.at(x, $0).red > 24 } }
        #expect(!columns.isEmpty, "something is written")
        #expect(try #require(columns.first) >= 49 && #require(columns.last) <= 350, "\(columns.first ?? 0)…\(columns.last ?? 0)")
    }

    @Test func `a line that fits is what it would be anyway`() async throws {
        let narrow = try await painter.png(line("Ada", size: 60, least: 40, width: 300))
        #expect(try await painter.png(line("Ada", size: 60, least: 60, width: 390)) == narrow)
    }

    @Test func `what does not fit ends with an ellipsis`() throws {
        try Vips.start()
        let wanted = Poster.Line(
            "Wolfgang Amadeus Mozart",
            font: "Inter Bold",
            size: 60,
            leastSize: 40,
            x: 0,
            y: .baseline(0),
            width: 300
        )
        let set = try #require(try Lettering.set(wanted))
        #expect(set.size == 40 && set.text.hasSuffix("…") && set.text.hasPrefix("Wolf") && set.raster.width <= 300, "\(set.text)")
    }

    @Test func `markup is text`() async throws {
        let plain = try await painter.png(line("<b>x</b>", size: 40))
        #expect(try await painter.png(line("x", size: 40)) != plain)
        #expect(Lettering.escaped("<b>\"'&\u{202E}\u{0}\n") == "&lt;b&gt;&quot;&#39;&amp; ")
    }

    @Test func `a text without ink is nothing`() async throws {
        let empty = try await painter.png(Poster(width: 400, height: 400, background: .init([.init(0)]), layers: []))
        for text in ["", "   ", "\n", "\u{2003}"] {
            #expect(try await painter.png(line(text)) == empty, "\(text.debugDescription)")
        }
    }

    @Test func `letters stand on their baseline and others are centred`() async throws {
        for text in ["H", "7"] {
            let picture = try await paint(line(text, size: 100, y: .baseline(300)))
            let rows = (0..<400).filter { y in (0..<400).contains { picture.at($0, y).red > 128 } }
            #expect(abs((rows.last ?? 0) - 300) <= 3, "\(text) ends at \(rows.last ?? 0)")
        }
        let centred = try await paint(line("7", size: 100, y: .middle(200)))
        let rows = (0..<400).filter { y in (0..<400).contains { centred.at($0, y).red > 128 } }
        #expect(abs((rows.first ?? 0) + (rows.last ?? 0) - 400) <= 3)
    }

    @Test func `a photo is cut to its disc`() async throws {
        let photo = try SamplePhoto(seed: 9, width: 640, height: 480).jpeg()
        let circle = Poster.Circle(x: 200, y: 200, radius: 100)
        let background = Poster.Gradient([.init(0x00FF00)])
        let picture = try await paint(Poster(width: 400, height: 400, background: background, layers: [.photo(circle, photo)]))
        #expect(!picture.at(200, 200).isNear(0, 255, 0, within: 40), "the photo")
        for (x, y) in [(101, 101), (299, 299), (200, 98), (302, 200)] {
            #expect(picture.at(x, y).isNear(0, 255, 0), "outside the disc, inside its square")
        }
        let square = try PosterPainter.decoded(photo, within: 1_024)
        #expect(square.width == 640)
    }

    @Test(arguments: [[], Array("not an image".utf8), [0xFF, 0xD8, 0xFF, 0xE0, 0, 1]] as [[UInt8]])
    func `a picture that cannot be read leaves what is below`(bytes: [UInt8]) async throws {
        let disc = Poster.Layer.disc(.init(x: 50, y: 50, radius: 40), .white())
        let background = Poster.Gradient([.init(0)])
        let without = try await painter.png(Poster(width: 100, height: 100, background: background, layers: [disc]))
        let circle = Poster.Circle(x: 50, y: 50, radius: 40)
        let with = try await painter.png(
            Poster(width: 100, height: 100, background: background, layers: [disc, .photo(circle, bytes)])
        )
        #expect(with == without)
    }

    @Test func `what lies outside is clipped`() async throws {
        let layers: [Poster.Layer] = [
            .glow(.init(x: -50, y: 90, radius: 80), .white()), .disc(.init(x: 100, y: 100, radius: 60), .white()),
            .pill(x: 0, y: 0, width: 300, height: 20, .white(0.5)),
            .line(.init("Streak", font: "Inter", size: 90, x: 95, y: .baseline(10), width: 900)),
            .photo(.init(x: 0, y: 100, radius: 30), try SamplePhoto(seed: 1, width: 60, height: 60).jpeg()),
        ]
        let picture = try await paint(Poster(width: 100, height: 100, background: .init([.init(0)]), layers: layers))
        #expect(picture.width == 100 && picture.at(99, 99).isNear(255, 255, 255))
    }

    @Test func `more than the painter takes is refused`() async throws {
        let small = PosterPainter(
            threads: 1,
            queueLimit: 1,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        let poster = Poster(width: 1_080, height: 1_920, background: .init([.init(0), .init(0xFFFFFF)]), layers: [])
        let codes = await withTaskGroup(of: ServiceError.Code?.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    do {
                        _ = try await small.png(poster)
                        return nil
                    } catch { return (error as? ServiceError)?.code ?? .unknown }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.contains(nil) && codes.contains(.unavailable))
        #expect(codes.allSatisfy { $0 == nil || $0 == .unavailable })
    }
}

/// A decoded picture to look at.
struct Picture {
    struct Pixel: CustomStringConvertible {
        let red, green, blue: Int

        func isNear(_ red: Int, _ green: Int, _ blue: Int, within distance: Int = 4) -> Bool {
            abs(self.red - red) <= distance && abs(self.green - green) <= distance && abs(self.blue - blue) <= distance
        }

        var isColourful: Bool { max(red, green, blue) > 120 && max(red, green, blue) - min(red, green, blue) > 60 }

        /// 0…359.
        var hue: Int {
            let (most, least) = (max(red, green, blue), min(red, green, blue))
            guard most > least else { return 0 }
            if most == red { return (60 * (green - blue) / (most - least) + 360) % 360 }
            return most == green ? 120 + 60 * (blue - red) / (most - least) : 240 + 60 * (red - green) / (most - least)
        }

        var description: String { "(\(red), \(green), \(blue))" }
    }

    private let raster: Raster
    var width: Int { raster.width }
    var height: Int { raster.height }

    init(_ bytes: [UInt8]) throws {
        try Vips.start()
        self.raster = try PosterPainter.decoded(bytes, within: 4_096).raster()
    }

    func at(_ x: Int, _ y: Int) -> Pixel {
        let place = (y * width + x) * raster.bands
        return Pixel(red: Int(raster.pixels[place]), green: Int(raster.pixels[place + 1]), blue: Int(raster.pixels[place + 2]))
    }

    var all: [Pixel] { (0..<width * height).map { at($0 % width, $0 / width) } }
}

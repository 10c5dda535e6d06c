private import Glibc

/// 8-bit RGB pixels to draw on. Integer arithmetic only, because a card has two million pixels.
struct Canvas {
    let width: Int
    let height: Int
    private(set) var pixels: [UInt8]

    /// A canvas filled with a gradient. Dithered, so that dark gradients show no bands.
    init(width: Int, height: Int, _ gradient: Poster.Gradient) {
        self.width = width
        self.height = height
        let table = Self.table(gradient)
        // The share of the way from corner to corner, in 1/2^22 of a step of the table.
        let last = (table.count - 1) << 22
        let (right, down) = (last / 4 / max(1, width), last * 3 / 4 / max(1, height))
        pixels = [UInt8](unsafeUninitializedCapacity: width * height * 3) { buffer, count in
            var place = 0
            for y in 0..<height {
                var way = y * down
                for x in 0..<width {
                    let colour = table[way >> 22]
                    let threshold = Self.thresholds[(y & 7) << 3 | (x & 7)]
                    buffer[place] = UInt8(truncatingIfNeeded: (colour.0 + threshold) >> 8)
                    buffer[place + 1] = UInt8(truncatingIfNeeded: (colour.1 + threshold) >> 8)
                    buffer[place + 2] = UInt8(truncatingIfNeeded: (colour.2 + threshold) >> 8)
                    place += 3
                    way += right
                }
            }
            count = place
        }
    }

    /// A colour whose opacity fades from the centre of a circle to its edge.
    mutating func glow(_ circle: Poster.Circle, _ colour: Poster.Colour) {
        let reach = max(1, circle.radius * circle.radius)
        // Smooth at both ends.
        let fading = (0...1_024).map { step -> Int in
            let left = 1 - Double(step) / 1_024
            return Int(colour.opacity * 65_280 * left * left * (3 - 2 * left))
        }
        draw(around: circle.x, circle.y, circle.radius, circle.radius) { x, y, blend in
            let distance = (x - circle.x) * (x - circle.x) + (y - circle.y) * (y - circle.y)
            guard distance < reach else { return }
            let threshold = Self.thresholds[(y & 7) << 3 | (x & 7)]
            blend(colour.red, colour.green, colour.blue, (fading[distance * 1_024 / reach] + threshold) >> 8)
        }
    }

    /// A bar with round ends; a disc when it is as wide as it is high.
    mutating func pill(x centre: Int, y middle: Int, width: Int, height: Int, _ colour: Poster.Colour) {
        let straight = max(0, (width - height) / 2)
        let opacity = Int(colour.opacity * 255)
        let mask = Mask(radius: height / 2)
        draw(around: centre, middle, width / 2, height / 2) { x, y, blend in
            let beyond = max(0, abs(x - centre) - straight)
            blend(colour.red, colour.green, colour.blue, mask.coverage(beyond, y - middle) * opacity / 255)
        }
    }

    /// A square picture cut to a disc.
    mutating func picture(_ picture: Raster, in circle: Poster.Circle) {
        let mask = Mask(radius: circle.radius)
        draw(around: circle.x, circle.y, circle.radius, circle.radius) { x, y, blend in
            let (column, row) = (x - circle.x + circle.radius, y - circle.y + circle.radius)
            guard column < picture.width, row < picture.height else { return }
            let place = (row * picture.width + column) * picture.bands
            let coverage = mask.coverage(x - circle.x, y - circle.y)
            blend(picture.pixels[place], picture.pixels[place + 1], picture.pixels[place + 2], coverage)
        }
    }

    /// An RGBA picture with its top left corner at a point, clipped to the canvas.
    mutating func overlay(_ picture: Raster, left: Int, top: Int, opacity: Double) {
        guard picture.bands == 4 else { return }
        let share = Int(opacity * 256)
        let rows = max(0, -top)..<max(max(0, -top), min(picture.height, height - top))
        let columns = max(0, -left)..<max(max(0, -left), min(picture.width, width - left))
        picture.pixels.withUnsafeBufferPointer { source in
            pixels.withUnsafeMutableBufferPointer { target in
                for row in rows {
                    for column in columns {
                        let from = (row * picture.width + column) * 4
                        let alpha = (Int(source[from + 3]) * share) >> 8
                        guard alpha > 0 else { continue }
                        let to = ((row + top) * width + column + left) * 3
                        for band in 0..<3 { target[to + band] = Self.mix(target[to + band], source[from + band], alpha) }
                    }
                }
            }
        }
    }

    private typealias Blend = (_ red: UInt8, _ green: UInt8, _ blue: UInt8, _ alpha: Int) -> Void

    /// Visits the pixels of a box around a point that lie on the canvas.
    private mutating func draw(around x: Int, _ y: Int, _ reachX: Int, _ reachY: Int, _ visit: (Int, Int, Blend) -> Void) {
        let rows = max(0, y - reachY)..<max(max(0, y - reachY), min(height, y + reachY))
        let columns = max(0, x - reachX)..<max(max(0, x - reachX), min(width, x + reachX))
        pixels.withUnsafeMutableBufferPointer { target in
            for row in rows {
                for column in columns {
                    let place = (row * width + column) * 3
                    visit(column, row) { red, green, blue, alpha in
                        guard alpha > 0 else { return }
                        target[place] = Self.mix(target[place], red, alpha)
                        target[place + 1] = Self.mix(target[place + 1], green, alpha)
                        target[place + 2] = Self.mix(target[place + 2], blue, alpha)
                    }
                }
            }
        }
    }

    /// alpha: 0…255.
    private static func mix(_ below: UInt8, _ above: UInt8, _ alpha: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (Int(below) * (255 - alpha) + Int(above) * alpha + 127) / 255)
    }

    /// 1,025 colours along the gradient, in 1/256 of a level.
    private static func table(_ gradient: Poster.Gradient) -> [(Int, Int, Int)] {
        let stops = gradient.stops.isEmpty ? [Poster.Colour(0)] : gradient.stops
        return (0...1_024).map { step in
            let way = Double(step) / 1_024 * Double(stops.count - 1)
            let (from, share) = (min(Int(way), max(0, stops.count - 2)), way - Double(min(Int(way), max(0, stops.count - 2))))
            let (a, b) = (stops[from], stops[min(from + 1, stops.count - 1)])
            func level(_ a: UInt8, _ b: UInt8) -> Int { min(255 << 8, Int((Double(a) * (1 - share) + Double(b) * share) * 256)) }
            return (level(a.red, b.red), level(a.green, b.green), level(a.blue, b.blue))
        }
    }

    /// Bayer's 8 × 8 matrix in 1/256 of a level: where a value between two levels becomes the upper one.
    private static let thresholds: [Int] = (0..<64).map { place in
        let (x, y) = (place & 7, place >> 3)
        return (0..<3).reduce(0) { value, bit in value << 2 | ((x ^ y) >> bit & 1) << 1 | (y >> bit & 1) } * 4
    }
}

/// How much of a pixel a disc covers, by its distance from the middle.
private struct Mask {
    let radius: Int

    /// 0…255; the edge is one pixel wide.
    func coverage(_ x: Int, _ y: Int) -> Int {
        let square = x * x + y * y
        if square <= (radius - 2) * (radius - 2) { return 255 }
        if square >= radius * radius { return 0 }
        return min(255, max(0, Int((Double(radius) - 0.5 - sqrt(Double(square))) * 255)))
    }
}

/// The pixels of a libvips image.
struct Raster {
    let width: Int
    let height: Int
    /// 3: RGB, 4: RGBA.
    let bands: Int
    let pixels: [UInt8]
}

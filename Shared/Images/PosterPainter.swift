private import CVips
private import Kernel
public import Logging
private import WorkPool

/// Paints posters with libvips, on threads of its own. A story-sized one needs about 10 MB and less than half a second.
public final class PosterPainter: Sendable {
    private let pool: WorkPool
    private let logger: Logger

    /// A painter; the image library and the fonts are loaded with the first poster.
    ///
    /// - Parameters:
    ///   - threads: Posters painted at once.
    ///   - queueLimit: Posters that may wait; further callers get `UNAVAILABLE`.
    ///   - logger: Logs what could not be painted and why.
    public init(threads: Int = 1, queueLimit: Int = 16, logger: Logger) {
        let refusal = ServiceError.unavailable("Too many pictures are being made at the moment. Try again in a moment.")
        self.pool = WorkPool(name: "posters", threads: threads, queueLimit: queueLimit, niceness: 5, refusal: refusal)
        self.logger = logger
    }

    /// The poster as PNG, opaque, in sRGB, without metadata.
    ///
    /// - Throws: `UNAVAILABLE` when too many posters wait; `CancellationError`; `INTERNAL` when libvips is not installed or fails.
    public func png(_ poster: Poster) async throws -> [UInt8] {
        try await pool.run { [logger] in
            do {
                try Vips.start()
                return try Self.paint(poster, logger: logger)
            } catch {
                logger.error("a poster could not be painted", metadata: ["cause": "\(error)"])
                throw ServiceError.internal
            }
        }
    }

    private static func paint(_ poster: Poster, logger: Logger) throws -> [UInt8] {
        defer { cvips_trim() }
        let (width, height) = (min(max(1, poster.width), 4_096), min(max(1, poster.height), 4_096))
        var canvas = Canvas(width: width, height: height, poster.background)
        for layer in poster.layers {
            switch layer {
            case .glow(let circle, let colour): canvas.glow(circle, colour)
            case .disc(let circle, let colour):
                canvas.pill(x: circle.x, y: circle.y, width: circle.radius * 2, height: circle.radius * 2, colour)
            case .pill(let x, let y, let width, let height, let colour):
                canvas.pill(x: x, y: y, width: width, height: height, colour)
            case .photo(let circle, let bytes):
                do {
                    canvas.picture(try photo(bytes, side: circle.radius * 2), in: circle)
                } catch { logger.warning("a picture on a poster was left out", metadata: ["cause": "\(error)"]) }
            case .line(let line):
                guard let lettering = try Lettering.set(line) else { continue }
                canvas.overlay(
                    lettering.raster,
                    left: line.x - lettering.raster.width / 2,
                    top: lettering.top(line.y),
                    opacity: line.colour.opacity
                )
            }
        }
        return try canvas.pixels.withUnsafeBytes { pixels in
            let image = try VipsImage(cvips_over_pixels(pixels.baseAddress, pixels.count, Int32(width), Int32(height)))
            return try image.drawing()
        }
    }

    /// The centre of a photo as a square of RGB.
    private static func photo(_ bytes: [UInt8], side: Int) throws -> Raster {
        try decoded(bytes, within: 1_024).square(side).raster()
    }

    /// A photo upright in RGB, shrunk to a square of this side if it is larger.
    static func decoded(_ bytes: [UInt8], within side: Int) throws -> VipsImage {
        guard let format = ImageFormat(sniffing: bytes) else { throw VipsFailure("it is not an image") }
        return try bytes.withUnsafeBytes { bytes in
            var (width, height): (Int32, Int32) = (0, 0)
            guard cvips_size(bytes.baseAddress, bytes.count, format.loader, &width, &height) == 0 else { throw VipsFailure() }
            guard Int(width) * Int(height) <= ImageProcessor.mostPixels else { throw VipsFailure("it is too large") }
            return try VipsImage(cvips_decode(bytes.baseAddress, bytes.count, format.loader, Int32(side)))
        }
    }
}

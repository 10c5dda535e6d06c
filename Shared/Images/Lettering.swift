private import CVips

/// A line of text as pixels, with their position.
struct Lettering {
    let raster: Raster
    /// From the baseline of Inter up to the first row.
    private let rise: Int
    /// Its font size.
    let size: Int
    /// The rendered text, or its beginning and an ellipsis.
    let text: String

    /// Its first row.
    func top(_ height: Poster.Height) -> Int {
        switch height {
        case .middle(let y): y - raster.height / 2
        case .baseline(let y) where standsOnBaseline: y - rise
        // A fallback font has another ascent, which moves the whole line.
        case .baseline(let y): y - size * 36 / 100 - raster.height / 2
        }
    }

    /// Whether it has only letters of Latin, Greek or Cyrillic, and emoji.
    private var standsOnBaseline: Bool {
        let scalars = text.unicodeScalars.filter { !$0.properties.isEmoji || $0.isASCII }
        return scalars.contains { $0.properties.isAlphabetic || $0.properties.numericType != nil }
            && scalars.allSatisfy { $0.value < 0x0590 || (0x1E00...0x206F).contains($0.value) || $0.value == 0xFE0F }
    }

    /// Renders a line so that it fits. Nil when it has no visible character.
    ///
    /// - Throws: `VipsFailure` when libvips fails.
    static func set(_ line: Poster.Line) throws(VipsFailure) -> Lettering? {
        // Longer text never fits. The size of one character is bounded too (endless combining marks).
        let characters = line.text.prefix(200).map { String(String.UnicodeScalarView($0.unicodeScalars.prefix(16))) }
        guard let whole = try draw(characters.joined(), line, line.size) else { return nil }
        if whole.raster.width <= line.width { return whole }
        var size = max(line.leastSize, line.size * line.width / whole.raster.width)
        while let smaller = try draw(characters.joined(), line, size) {
            if smaller.raster.width <= line.width { return smaller }
            if size <= line.leastSize { break }
            size -= 1
        }
        return try shortened(characters, line)
    }

    /// The longest beginning that fits with an ellipsis, at the smallest size.
    private static func shortened(_ characters: [String], _ line: Poster.Line) throws(VipsFailure) -> Lettering? {
        var best: Lettering?
        var (fits, fails) = (0, characters.count)
        while fails - fits > 1 {
            let middle = (fits + fails) / 2
            let words = characters[..<middle].joined()
            let text = (words.last == " " ? String(words.dropLast()) : words) + "…"
            if let lettering = try draw(text, line, line.leastSize), lettering.raster.width <= line.width {
                (best, fits) = (lettering, middle)
            } else {
                fails = middle
            }
        }
        return best
    }

    private static func draw(_ text: String, _ line: Poster.Line, _ size: Int) throws(VipsFailure) -> Lettering? {
        // White space has no ink, which is an error for libvips.
        guard text.contains(where: { !$0.isWhitespace }) else { return nil }
        let spacing = line.spacing * size / max(1, line.size) * 1_024
        let colour = [line.colour.red, line.colour.green, line.colour.blue].map { hex($0) }.joined()
        let markup = "<span foreground=\"#\(colour)\" letter_spacing=\"\(spacing)\">\(escaped(text))</span>"
        let words = line.font.split(separator: " ")
        // Fallback families for characters that the first one lacks, before the system's choice.
        let font = "\(words.first ?? "Inter"), Noto Sans, Noto Sans CJK SC \(words.dropFirst().joined(separator: " ")) \(size)"
        let image = try VipsImage(cvips_text(markup, font))
        let raster = try image.raster()
        return Lettering(raster: raster, rise: size * 97 / 100 - image.top, size: size, text: text)
    }

    private static func hex(_ value: UInt8) -> String {
        (value < 16 ? "0" : "") + String(value, radix: 16)
    }

    /// Text as Pango markup, without control characters and marks that change the direction of other text.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\r", "\t", "\u{2028}", "\u{2029}": result += " "
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FFFC}",
                "\u{FFFE}"..."\u{FFFF}":
                continue
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension VipsImage {
    /// How far below the top of its line the ink of a text begins.
    var top: Int { Int(with(cvips_top)) }

    /// The centre, or what draws attention, scaled to this side.
    func square(_ side: Int, findsInterest: Bool = false) throws(VipsFailure) -> VipsImage {
        try VipsImage(with { cvips_square($0, Int32(side), findsInterest ? 1 : 0) })
    }

    /// As PNG.
    func drawing() throws(VipsFailure) -> [UInt8] {
        try Vips.bytes { bytes, count in with { cvips_save_drawing($0, bytes, count) } }
    }

    /// Its pixels, computed at once.
    func raster() throws(VipsFailure) -> Raster {
        var bands: Int32 = 0
        var count = 0
        guard let pixels = with({ cvips_pixels($0, &bands, &count) }) else { throw VipsFailure() }
        defer { cvips_free(pixels) }
        guard count == width * height * Int(bands) else { throw VipsFailure() }
        return Raster(
            width: width,
            height: height,
            bands: Int(bands),
            pixels: Array(UnsafeRawBufferPointer(start: pixels, count: count))
        )
    }
}

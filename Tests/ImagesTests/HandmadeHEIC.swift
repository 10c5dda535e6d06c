/// A HEIC put together box by box, as phones lay theirs out: a grid of tiles, turned, with an alpha, a preview and EXIF. What a test says
/// is wrong with one is the only thing wrong with it.
struct HandmadeHEIC {
    var columns = 16
    var rows = 12
    /// What the grid says its picture measures; nil for what its tiles do.
    var canvas: (width: UInt32, height: UInt32)?
    /// The video data of every tile, each 64 × 64.
    var tile = Self.coded
    /// The box that configures the decoder of tiles, and that of the alpha and the preview.
    var configuration = Self.configuration
    var companionConfiguration = Self.configuration
    var preview = Self.coded
    /// References that are there beside those of the grid, the alpha and the preview.
    var references: [(type: String, from: UInt16, to: [UInt16])] = []
    /// In how many pieces the data of a tile lie.
    var pieces = 1
    /// Boxes in `meta` beside those it needs, and after all boxes.
    var extras: [UInt8] = []
    var trailer: [UInt8] = []
    /// The types of the items of the tiles, the alpha and the preview.
    var tileType = "hvc1"
    var alphaType = "hvc1"
    var previewType = "hvc1"
    /// Whether it is laid out as since iOS 18: a recipe for bright screens (`tmap`) out of the photo and a map of gain, and whatever belongs to the photo
    /// belongs to the recipe too.
    var hasRecipe = false
    /// The item that is shown.
    var primary = Self.grid
    /// The EXIF, after the offset to its header.
    var exifData = Array("Exif\0\0".utf8)
    /// Whether items have numbers of 32 bits, with the versions of boxes for these.
    var isWide = false
    /// Whether the grid's own data lie in the file, not in a box of `meta`.
    var isGridInFile = false

    static let grid: UInt16 = 1
    static let alpha: UInt16 = 2
    static let previewItem: UInt16 = 3
    static let exif: UInt16 = 4
    static let recipe: UInt16 = 5
    static let gain: UInt16 = 6
    static let firstTile: UInt16 = 10

    /// One picture of 64 × 64, of `Fixtures.heic`, and what a decoder must know to read it.
    static let coded = Array(Fixtures.heic[520..<546])
    static let configuration = Array(Fixtures.heic[280..<390])

    /// The same with a parameter set that says millions by a thousand, in as many bytes.
    static let largeConfiguration: [UInt8] = {
        var bytes = configuration
        guard let set = bytes.firstRange(of: [0x42, 0x01, 0x01]) else { return [] }
        // The general profile is 13 bytes, three more keep a start code from occurring. Then 1 (set 0), 010 (4:2:0), and instead of
        // 0000001000001 (64) twice: codes of 24 zeros and of 10.
        let codes = set.lowerBound + 2 + 16
        bytes.replaceSubrange(codes..<codes + 8, with: [0xA0, 0x00, 0x00, 0x08, 0x84, 0x84, 0x80, 0x01])
        return bytes
    }()

    static func box(_ type: String, _ body: [UInt8]) -> [UInt8] { big(UInt32(body.count + 8)) + Array(type.utf8) + body }

    static func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func full(_ type: String, _ version: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
        box(type, [version, 0, 0, 0] + body)
    }

    /// A photo as an iPhone writes it since iOS 18.
    static var ofToday: HandmadeHEIC { HandmadeHEIC(hasRecipe: true) }

    private func number(_ id: UInt16) -> [UInt8] { isWide ? Self.big(UInt32(id) + 70_000) : Self.big(id) }

    private var tiles: Range<UInt16> { Self.firstTile..<Self.firstTile + UInt16(columns * rows) }

    var bytes: [UInt8] {
        let head = Self.box("ftyp", Array("heic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8))
        // The places are as long whatever they say, so the first pass shows where the data begin.
        let start = head.count + meta(dataStart: 0).count + 8
        let data = tile + preview + [0, 0, 0, 6] + exifData + (isGridInFile ? gridData : [])
        return head + meta(dataStart: UInt32(start)) + Self.box("mdat", data) + trailer
    }

    private func meta(dataStart: UInt32) -> [UInt8] {
        let handler = Self.full("hdlr", 0, [0, 0, 0, 0] + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
        let primary = Self.full("pitm", isWide ? 1 : 0, number(primary))
        return Self.full(
            "meta",
            0,
            handler + primary + types + properties + links + Self.box("idat", gridData) + places(dataStart) + groups + extras
        )
    }

    private var gridData: [UInt8] {
        let size = canvas ?? (UInt32(columns * 64), UInt32(rows * 64))
        return [0, 1, UInt8(rows - 1), UInt8(columns - 1)] + Self.big(size.width) + Self.big(size.height)
    }

    private var types: [UInt8] {
        var all = [(Self.grid, "grid"), (Self.alpha, alphaType), (Self.previewItem, previewType), (Self.exif, "Exif")]
        if hasRecipe { all += [(Self.recipe, "tmap"), (Self.gain, "hvc1")] }
        all += tiles.map { ($0, tileType) }
        let entries = all.flatMap { id, type in
            Self.full("infe", isWide ? 3 : 2, number(id) + [0, 0] + Array(type.utf8) + [0])
        }
        return Self.full("iinf", 0, Self.big(UInt16(all.count)) + entries)
    }

    private var properties: [UInt8] {
        func size(_ width: Int, _ height: Int) -> [UInt8] {
            Self.full("ispe", 0, Self.big(UInt32(width)) + Self.big(UInt32(height)))
        }
        let all =
            Self.box("hvcC", configuration) + size(64, 64) + size(columns * 64, rows * 64) + Self.box("irot", [1])
            + Self.full("auxC", 0, Array("urn:mpeg:hevc:2015:auxid:1".utf8) + [0]) + Self.box("hvcC", companionConfiguration)
            + Self.full("auxC", 0, Array("urn:com:apple:photo:2020:aux:hdrgainmap".utf8) + [0])
        // Numbered from 1, the highest bit for what a reader must understand.
        var links: [(UInt16, [UInt8])] = [
            (Self.grid, [3, 0x84]), (Self.alpha, [0x86, 2, 5]), (Self.previewItem, [0x86, 2]),
        ]
        if hasRecipe { links += [(Self.recipe, [3, 0x84]), (Self.gain, [0x81, 2, 7])] }
        links += tiles.map { ($0, [0x81, 2]) }
        let entries = links.flatMap { number($0.0) + [UInt8($0.1.count)] + $0.1 }
        let list = Self.full("ipma", isWide ? 1 : 0, Self.big(UInt32(links.count)) + entries)
        return Self.box("iprp", Self.box("ipco", all) + list)
    }

    private var links: [UInt8] {
        let shown = hasRecipe ? [Self.grid, Self.recipe] : [Self.grid]
        var usual: [(type: String, from: UInt16, to: [UInt16])] = [
            ("dimg", Self.grid, Array(tiles)), ("auxl", Self.alpha, shown), ("thmb", Self.previewItem, shown),
            ("cdsc", Self.exif, shown),
        ]
        if hasRecipe { usual += [("dimg", Self.recipe, [Self.grid, Self.gain]), ("auxl", Self.gain, shown)] }
        let entries = (usual + references).flatMap { link in
            Self.box(link.type, number(link.from) + Self.big(UInt16(link.to.count)) + link.to.flatMap { number($0) })
        }
        return Self.full("iref", isWide ? 1 : 0, entries)
    }

    /// The recipe, or instead of it the photo.
    private var groups: [UInt8] {
        guard hasRecipe else { return [] }
        let members = [Self.recipe, Self.grid].flatMap { Self.big(UInt32($0) + (isWide ? 70_000 : 0)) }
        return Self.box("grpl", Self.full("altr", 0, [0, 0, 0, 99, 0, 0, 0, 2] + members))
    }

    /// All tiles lie in the same bytes.
    private func places(_ dataStart: UInt32) -> [UInt8] {
        func entry(_ id: UInt16, _ method: UInt16, _ extents: [(UInt32, Int)]) -> [UInt8] {
            let pairs = extents.flatMap { Self.big($0.0) + Self.big(UInt32($0.1)) }
            return number(id) + Self.big(method) + [0, 0] + Self.big(UInt16(extents.count)) + pairs
        }
        let step = tile.count / pieces
        let cut = (0..<pieces).map { piece in
            (dataStart + UInt32(piece * step), piece == pieces - 1 ? tile.count - piece * step : step)
        }
        let previewStart = dataStart + UInt32(tile.count)
        let exifStart = previewStart + UInt32(preview.count)
        let gridStart = exifStart + 4 + UInt32(exifData.count)
        var named =
            entry(Self.grid, isGridInFile ? 0 : 1, [(isGridInFile ? gridStart : 0, gridData.count)])
            + entry(Self.alpha, 0, [(dataStart, tile.count)]) + entry(Self.previewItem, 0, [(previewStart, preview.count)])
            + entry(Self.exif, 0, [(exifStart, 4 + exifData.count)])
        if hasRecipe { named += entry(Self.recipe, 0, [(exifStart, 4)]) + entry(Self.gain, 0, [(dataStart, tile.count)]) }
        let count = (hasRecipe ? 6 : 4) + tiles.count
        let head = [0x44, 0x00] + (isWide ? Self.big(UInt32(count)) : Self.big(UInt16(count)))
        return Self.full("iloc", isWide ? 2 : 1, head + named + tiles.flatMap { entry($0, 0, cut) })
    }
}

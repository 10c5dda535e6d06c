internal import Kernel
internal import MediaAPI
internal import MediaDomain

/// Which posts a list has, and in which order (PL-2).
struct PostSearch: Sendable {
    /// A circle around a point.
    struct Circle: Sendable {
        let center: Coordinate
        /// Metres.
        let radius: Double
    }

    /// How a list is sorted.
    enum Order: String, Sendable {
        case score, newest
    }

    /// The greatest radius in metres.
    static let mostMetres = 1_000_000.0

    /// The smallest box that has all of them; nil for the whole earth.
    var box: GeoBox?
    var circle: Circle?
    /// Keys of a geohash's cell: its box has points of the next cells on its edges.
    var cell: ClosedRange<Int64>?
    var since: Instant?
    var author: UserID?
    /// The reader's own, hidden ones too.
    var isOwn = false
    var order: Order
    /// Case-folded; nil when none are searched for.
    var words: [String]?

    /// All posts.
    static let everything = PostSearch()

    private init() { order = .newest }

    /// The posts of a box by their scores.
    init(bestOf box: GeoBox) { (self.box, order) = (box, .score) }

    /// - Parameter reader: nil for a guest.
    /// - Throws: `VALIDATION_ERROR` naming the fields that are wrong or do not go together; `UNAUTHENTICATED` for a guest's own.
    init(_ request: ListPostsRequest, reader: UserID?) throws {
        try self.init(request)
        guard isOwn else { return }
        guard let reader else { throw ServiceError(.unauthenticated, "UNAUTHENTICATED", "Sign in first.") }
        guard author == nil || author == reader else {
            throw ServiceError.validation(field: "author", "cannot be another user with mine")
        }
        author = reader
    }

    /// As far as the request alone says it.
    ///
    /// - Throws: `VALIDATION_ERROR` naming the fields that are wrong or do not go together.
    init(_ request: ListPostsRequest) throws {
        (isOwn, author, since) = (request.mine ?? false, request.author, request.since)
        order = request.sort.flatMap(Order.init) ?? (isOwn || author != nil ? .newest : .score)
        var check = FieldCheck()
        let hasCircle = request.lat != nil || request.lon != nil || request.radius != nil
        let areas = [("bbox", request.bbox != nil), ("radius", hasCircle), ("geohash", request.geohash != nil)].filter(\.1)
        for (area, _) in areas { check.require(areas.count == 1, area, "only one area at a time") }
        if let text = request.q { words = try check.take { try Self.words(of: text) } }
        if let text = request.bbox { box = try check.take { try GeoBox(parsing: text, field: "bbox") } }
        if let text = request.geohash,
            let geohash = try check.take({ try Geohash(parsing: text, field: "geohash", longest: 6) })
        {
            (box, cell) = (geohash.box, geohash.keys)
        }
        if hasCircle, let circle = try check.take({ try Self.circle(request) }) {
            (self.circle, box) = (circle, GeoBox(around: circle.center, radius: circle.radius))
        }
        try check.finish()
    }

    private static func words(of text: String) throws(ServiceError) -> [String] {
        let words = PlaceText.words(text)
        guard words.contains(where: { $0.unicodeScalars.contains { $0.properties.generalCategory != .nonspacingMark } }) else {
            throw .validation(field: "q", "must have a letter or a digit")
        }
        return words
    }

    private static func circle(_ request: ListPostsRequest) throws -> Circle {
        let parts = [("lat", request.lat, 90.0, "lon"), ("lon", request.lon, 180.0, "lat")]
        var wrong = parts.compactMap { name, value, limit, other -> ServiceError.Detail? in
            guard let value else { return .init(field: name, message: "is required with \(other) and radius") }
            return (-limit...limit).contains(value)
                ? nil : .init(field: name, message: "must be between -\(Int(limit)) and \(Int(limit))")
        }
        if let radius = request.radius {
            if !(0...mostMetres).contains(radius) {
                wrong.append(.init(field: "radius", message: "must be between 0 and 1000000"))
            }
        } else {
            wrong.append(.init(field: "radius", message: "is required with lat and lon"))
        }
        guard wrong.isEmpty, let latitude = request.lat, let longitude = request.lon, let radius = request.radius else {
            throw ServiceError.validation(wrong)
        }
        return Circle(center: try Coordinate(latitude: latitude, longitude: longitude), radius: radius)
    }
}

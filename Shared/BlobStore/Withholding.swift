public import Kernel

/// Withholds the blobs of one owner for a while, in spite of valid links (PH-6): from all viewers, or from one. The blobs are kept
/// and can be served again at once.
///
/// Code that serves blobs must check `isWithheld`. One small marker is enough for all blobs of an owner, because the second segment
/// of a key names the owner: `snaps/<owner>/2026-01-02/<id>/display.jpg`. The marker is `withheld/<owner>`, or
/// `hidden/<owner>/<viewer>` for one viewer. A blob that shows several users belongs to each of them,
/// `cards/<owner>_<owner>/<id>.png`, and is served while none of them is withheld.
///
/// What one picture has is closed by a marker of its own, `closed/<owner>/<folder>/<rest of the path>`, for pictures that lie in a folder of theirs
/// (`BlobKey.closing`). Links that were made for the owner by name, or for moderators, open it all the same.
extension BlobStore {
    /// Stops serving the blobs of an owner; a repeat changes nothing.
    public func withhold(_ owner: UserID) async throws { try await put(try marker(of: "\(owner)"), [UInt8(ascii: "1")]) }

    /// Serves them again; changes nothing for an owner who is not withheld.
    public func release(_ owner: UserID) async throws { try await delete(try marker(of: "\(owner)")) }

    /// Stops serving all that lies in the folder of this blob; a repeat changes nothing. Nothing happens for a blob that has no such folder.
    public func close(folderOf key: BlobKey) async throws {
        if let marker = try key.closing { try await put(marker, [UInt8(ascii: "1")]) }
    }

    /// Serves it again; changes nothing for what is not closed.
    public func reopen(folderOf key: BlobKey) async throws {
        if let marker = try key.closing { try await delete(marker) }
    }

    /// Stops serving the blobs of an owner through links that were made for one viewer.
    ///
    /// - Parameter now: by the clock that links expire by.
    public func hide(_ owner: UserID, from viewer: UserID, at now: Instant) async throws {
        // A negative number means: hidden since.
        try await put(try marker(of: "\(owner)", from: viewer), Array("\(-now.seconds)".utf8))
    }

    /// Serves them to this viewer again, by new links. Older links, which are valid for `lifetime`, stay invalid.
    public func show(_ owner: UserID, to viewer: UserID, linksLive lifetime: Interval) async throws {
        let key = try marker(of: "\(owner)", from: viewer)
        guard let since = try await content(of: key), since < 0 else { return }
        try await put(key, Array("\(-since + lifetime.seconds)".utf8))
    }

    /// Deletes the marker: every link of that time has expired.
    public func removeHidden(_ owner: UserID, from viewer: UserID) async throws {
        try await delete(try marker(of: "\(owner)", from: viewer))
    }

    /// Whether this blob must not be served, because an owner is withheld or it is closed. The markers themselves are never served.
    ///
    /// - Parameters:
    ///   - viewer: the user the link was made for; nil: any user.
    ///   - expires: when the link expires; nil for a link that is made now.
    public func isWithheld(_ key: BlobKey, from viewer: UserID? = nil, expires: Instant? = nil) async throws -> Bool {
        let segments = key.description.split(separator: "/", maxSplits: 2)
        guard segments.count > 1 else { return false }
        if ["withheld", "hidden", "closed"].contains(segments[0]) { return true }
        let opensClosed = viewer.map { $0 == .moderators || $0.description == segments[1] } ?? false
        if !opensClosed, let closing = try key.closing, try await info(of: closing) != nil { return true }
        for owner in segments[1].split(separator: "_") {
            if try await info(of: try marker(of: owner)) != nil { return true }
            if let viewer, try await isHidden(owner, from: viewer, expires) { return true }
        }
        return false
    }

    private func isHidden(_ owner: some StringProtocol, from viewer: UserID, _ expires: Instant?) async throws -> Bool {
        guard let limit = try await content(of: try marker(of: owner, from: viewer)) else { return false }
        guard limit > 0 else { return true }
        return expires.map { $0.seconds <= limit } ?? false
    }

    /// The number in a marker; nil when there is no such marker.
    private func content(of key: BlobKey) async throws -> Int64? {
        guard try await info(of: key) != nil else { return nil }
        // Anything but a number counts as hidden, to be safe.
        return Int64(String(decoding: try await read(key, limit: 32), as: UTF8.self)) ?? -1
    }

    private func marker(of owner: some StringProtocol, from viewer: UserID) throws -> BlobKey {
        try BlobKey("hidden/\(owner)/\(viewer)")
    }

    private func marker(of owner: some StringProtocol) throws -> BlobKey { try BlobKey("withheld/\(owner)") }
}

extension UserID {
    /// The viewer of the links of moderators, who look at what was reported (SO-9). No user has this id.
    public static var moderators: UserID { UserID(high: 0, low: 0) }
}

extension BlobKey {
    /// The folders whose pictures are closed one by one: each picture has a folder of its own below them.
    private static let closable: Set<String> = ["snaps", "posts"]

    /// The marker by which the folder of this blob is closed; nil for blobs that cannot be closed.
    public var closing: BlobKey? {
        get throws {
            let segments = description.split(separator: "/")
            guard segments.count > 3, let folder = segments.first, Self.closable.contains(String(folder)) else { return nil }
            let rest = segments.dropFirst(2).dropLast().joined(separator: "/")
            return try BlobKey("closed/\(segments[1])/\(folder)/\(rest)")
        }
    }
}

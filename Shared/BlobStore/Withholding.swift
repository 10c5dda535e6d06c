public import Kernel

/// Blobs of one owner that are not served for a while, whatever links are about (PH-6): kept, and back at once when the owner is.
/// To everybody, or to one viewer.
///
/// Whoever serves blobs asks `isWithheld`. The convention that makes one small marker enough for all blobs of an owner, however many:
/// the second segment of a key names its owner, `snaps/<owner>/2026-01-02/<id>/display.jpg`; the marker is `withheld/<owner>`, and
/// `hidden/<owner>/<viewer>` for one viewer. What shows several people belongs to each of them, `cards/<owner>_<owner>/<id>.png`, and is
/// served while none of them is withheld.
extension BlobStore {
    /// Stops serving the blobs of an owner; doing it again changes nothing.
    public func withhold(_ owner: UserID) async throws { try await put(try marker(of: "\(owner)"), [UInt8(ascii: "1")]) }

    /// Serves them again; for one that is not withheld it changes nothing.
    public func release(_ owner: UserID) async throws { try await delete(try marker(of: "\(owner)")) }

    /// Stops serving the blobs of an owner through links that were made for one viewer.
    ///
    /// - Parameter now: of the clock that links expire by.
    public func hide(_ owner: UserID, from viewer: UserID, at now: Instant) async throws {
        // Negative: hidden since.
        try await put(try marker(of: "\(owner)", from: viewer), Array("\(-now.seconds)".utf8))
    }

    /// Serves them to this viewer again, through links made since: those of before, which live for `lifetime`, stay dead.
    public func show(_ owner: UserID, to viewer: UserID, linksLive lifetime: Interval) async throws {
        let key = try marker(of: "\(owner)", from: viewer)
        guard let since = try await content(of: key), since < 0 else { return }
        try await put(key, Array("\(-since + lifetime.seconds)".utf8))
    }

    /// Forgets that they were hidden: every link of that time has expired.
    public func forgetHidden(_ owner: UserID, from viewer: UserID) async throws {
        try await delete(try marker(of: "\(owner)", from: viewer))
    }

    /// Whether an owner of this blob is withheld, and so must nobody be served it. The markers themselves are never served.
    ///
    /// - Parameters:
    ///   - viewer: whom the link was made for; nil for nobody in particular.
    ///   - expires: when the link does; nil for one that was made this moment.
    public func isWithheld(_ key: BlobKey, from viewer: UserID? = nil, expires: Instant? = nil) async throws -> Bool {
        let segments = key.description.split(separator: "/", maxSplits: 2)
        guard segments.count > 1 else { return false }
        if segments[0] == "withheld" || segments[0] == "hidden" { return true }
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
        // What is no number is taken for hidden, to be safe.
        return Int64(String(decoding: try await read(key, limit: 32), as: UTF8.self)) ?? -1
    }

    private func marker(of owner: some StringProtocol, from viewer: UserID) throws -> BlobKey {
        try BlobKey("hidden/\(owner)/\(viewer)")
    }

    private func marker(of owner: some StringProtocol) throws -> BlobKey { try BlobKey("withheld/\(owner)") }
}

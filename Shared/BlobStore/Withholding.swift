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
    public func hide(_ owner: UserID, from viewer: UserID) async throws {
        try await put(try marker(of: "\(owner)", from: viewer), [UInt8(ascii: "1")])
    }

    /// Serves them to this viewer again, through links made from now on: those that expire by `limit` stay dead.
    public func show(_ owner: UserID, to viewer: UserID, throughLinksAfter limit: Instant) async throws {
        try await put(try marker(of: "\(owner)", from: viewer), Array("\(limit.seconds)".utf8))
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
        let key = try marker(of: owner, from: viewer)
        guard try await info(of: key) != nil else { return false }
        let text = String(decoding: try await read(key, limit: 32), as: UTF8.self)
        // Hidden altogether, or what was written by a version to come.
        guard let limit = Int64(text), limit > 1 else { return true }
        return expires.map { $0.seconds <= limit } ?? false
    }

    private func marker(of owner: some StringProtocol, from viewer: UserID) throws -> BlobKey {
        try BlobKey("hidden/\(owner)/\(viewer)")
    }

    private func marker(of owner: some StringProtocol) throws -> BlobKey { try BlobKey("withheld/\(owner)") }
}

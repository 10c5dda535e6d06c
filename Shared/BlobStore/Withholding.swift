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

    /// Serves them again to this viewer.
    public func show(_ owner: UserID, to viewer: UserID) async throws {
        try await delete(try marker(of: "\(owner)", from: viewer))
    }

    /// Whether an owner of this blob is withheld, and so must nobody be served it. The markers themselves are never served.
    ///
    /// - Parameter viewer: whom the link was made for; nil for nobody in particular.
    public func isWithheld(_ key: BlobKey, from viewer: UserID? = nil) async throws -> Bool {
        let segments = key.description.split(separator: "/", maxSplits: 2)
        guard segments.count > 1 else { return false }
        if segments[0] == "withheld" || segments[0] == "hidden" { return true }
        for owner in segments[1].split(separator: "_") {
            if try await info(of: try marker(of: owner)) != nil { return true }
            if let viewer, try await info(of: try marker(of: owner, from: viewer)) != nil { return true }
        }
        return false
    }

    private func marker(of owner: some StringProtocol, from viewer: UserID) throws -> BlobKey {
        try BlobKey("hidden/\(owner)/\(viewer)")
    }

    private func marker(of owner: some StringProtocol) throws -> BlobKey { try BlobKey("withheld/\(owner)") }
}

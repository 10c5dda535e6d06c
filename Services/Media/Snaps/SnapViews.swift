internal import Kernel
internal import MediaAPI
internal import MediaCore

/// Snaps as readers see them, with links made for the reader.
struct SnapViews: Sendable {
    let links: MediaLinks
    let clock: any Clock

    /// A snap as a reader sees it who may.
    func view(_ snap: ShownSnap, for reader: UserID) throws -> MediaAPI.Snap {
        try view(snap, viewer: reader == snap.user ? nil : reader)
    }

    /// A snap with links for a viewer; nil for its author.
    func view(_ snap: ShownSnap, viewer: UserID?) throws -> MediaAPI.Snap {
        let now = clock.now()
        return MediaAPI.Snap(
            id: snap.id,
            userID: snap.user,
            photoURL: try links.link(snap.displayKey, for: viewer, now: now),
            thumbnailURL: try links.link(snap.thumbnailKey, for: viewer, now: now),
            width: snap.width,
            height: snap.height,
            caption: snap.caption,
            capturedAt: snap.capturedAt,
            postedAt: snap.postedAt,
            onTime: snap.isOnTime,
            promptID: snap.promptID
        )
    }
}

extension SlotContent {
    var snap: ShownSnap? {
        guard case .snap(let snap) = self else { return nil }
        return snap
    }

    /// There is a snap, or was one that its author has deleted.
    var isPosted: Bool {
        switch self {
        case .snap, .deleted: true
        case .empty, .hidden: false
        }
    }
}

internal import Kernel
internal import MediaAPI
internal import MediaCore

/// Snaps as readers see them, with links made for the reader.
struct SnapViews: Sendable {
    let links: MediaLinks
    let clock: any Clock

    /// A snap as a reader sees it who may.
    func view(_ snap: ShownSnap, for reader: UserID) throws -> MediaAPI.Snap {
        let viewer = reader == snap.user ? nil : reader
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
            onTime: snap.isOnTime
        )
    }
}

extension SlotContent {
    var snap: ShownSnap? {
        guard case .snap(let snap) = self else { return nil }
        return snap
    }
}

internal import Kernel
internal import Outbox
internal import SocialAPI

/// What was reported stays for moderators, also when its author deletes it (SO-8).
enum ReportedSnaps {
    static let handler = EventHandler(ReportFiled.self) { event, work in
        guard event.subjectType == .photo else { return }
        try await SnapRepository.keep(event.subjectID.cast(to: Tag.Snap.self), of: event.ownerID, work.sql)
    }
}

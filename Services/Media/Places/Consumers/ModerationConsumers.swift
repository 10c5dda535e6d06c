internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI

/// What users report and moderators decide about posts (SO-8, SO-9). `social` decides; here it takes effect.
enum ModerationConsumers {
    static let all: [EventHandler] = [
        EventHandler(ReportFiled.self) { event, work in
            guard event.subjectType == .post, let reporter = event.reporterID else { return }
            try await ReportedPostRepository.store(event.subjectID.cast(to: Tag.Post.self), reportedBy: reporter, work.sql)
        },
        EventHandler(PostStandingChanged.self) { event, work in
            // Due times run on the machine's clock.
            try await ReportedPostRepository.store(event, now: SystemClock.now(), work.sql)
        },
    ]
}

internal import MediaAPI
internal import Outbox

/// What the moderator of pictures found, for the moderators' queue (PL-5).
enum ScreeningConsumer {
    static func handler(_ posts: PostReports) -> EventHandler {
        EventHandler(PostScreened.self) { event, work in try await posts.screened(event, work) }
    }
}

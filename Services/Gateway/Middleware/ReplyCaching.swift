internal import HTTPTypes
internal import Hummingbird
internal import Transcoding

extension Response {
    /// Forbids caches to keep a reply that is one caller's own, or a failure, unless its route says itself how it may be kept (RFC 9111
    /// §5.2.2.5). Tokens travel in replies of routes that take no credential, so every reply in the envelope counts.
    mutating func forbidStoring(to request: Request, of route: Route?) {
        guard headers[.cacheControl] == nil else { return }
        let isEnvelope = route.map { !$0.policy.bare && $0.policy.body == nil } ?? false
        guard isEnvelope || status.code >= 400 || request.headers[.authorization] != nil else { return }
        headers[.cacheControl] = "no-store"
    }
}

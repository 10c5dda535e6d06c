private import Synchronization
internal import Transcoding

/// Parsed descriptors by their hash, for gateways of one process that come one after the other with the same services.
public final class DescriptorCache: Sendable {
    private let sets = Mutex<[String: DescriptorSet]>([:])

    public init() {}

    /// The descriptor whose bytes have this SHA-256; nil when no gateway has had it.
    subscript(hash: String) -> DescriptorSet? { sets.withLock { $0[hash] } }

    /// - Parameter hash: checked by the caller.
    func keep(_ set: DescriptorSet, hash: String) { sets.withLock { $0[hash] = set } }
}

@_spi(Once) public import Bus

/// Keeps the changes that take several steps across services (D6), each in a row of its own that also holds the reply.
///
/// A conforming type promises what `Mutations` does for a change of one transaction: the row is claimed before the first step, once for an
/// idempotency key and its request (another request with the key is refused); each step may be repeated; the reply is stored with the last
/// step; and every repeat gets the stored reply.
public protocol OperationStore: Sendable {}

extension Mutations {
    /// The answer of a change whose row keeps the reply, so that none is stored beside it.
    ///
    /// - Parameters:
    ///   - store: has the row.
    ///   - drive: brings the operation to its end, or waits for the request that does.
    /// - Returns: what `drive` returns: the reply in the row.
    /// - Throws: whatever `drive` throws.
    public func once<Reply: Sendable>(storedBy store: some OperationStore, _ drive: () async throws -> Reply) async throws
        -> Once<Reply>
    {
        Once(try await drive())
    }
}

/// Runs two operations side by side and returns what both give.
///
/// Instead of `async let`: Swift 6.3.1's runtime reads an `async let` child after its parent may have reused its memory
/// (swiftlang/swift #89883, fixed in 6.4). `second` runs in the caller's task. `first` runs in a task of its own, which is
/// cancelled with the caller, or when `second` throws. Both have ended when this returns or throws.
///
/// - Throws: what `second` throws, else what `first` throws.
public func concurrently<First: Sendable, Second>(
    _ first: @escaping @Sendable () async throws -> First,
    _ second: () async throws -> Second
) async throws -> (First, Second) {
    let task = Task { try await first() }
    return try await withTaskCancellationHandler {
        let other: Second
        do {
            other = try await second()
        } catch {
            task.cancel()
            _ = await task.result
            throw error
        }
        return (try await task.value, other)
    } onCancel: {
        task.cancel()
    }
}

/// Runs `body` so many times at once, each in a task of its own.
///
/// - Parameter body: gets its number, from 0.
/// - Returns: what each has come to, in the order of their numbers.
public func simultaneously<Value: Sendable>(
    _ count: Int,
    _ body: @escaping @Sendable (Int) async throws -> Value
) async -> [Result<Value, any Error>] {
    let tasks = (0..<count).map { number in Task { try await body(number) } }
    var results: [Result<Value, any Error>] = []
    for task in tasks { results.append(await task.result) }
    return results
}

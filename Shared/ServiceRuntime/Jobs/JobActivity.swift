private import Synchronization

/// Which runs of a replica's jobs are under way, and how many rows they have dealt with: so that it can be said that nothing is under way (PF-7).
final class JobActivity: Sendable {
    private struct Waiter {
        var runs: Set<Int>
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var begun = 0
        var running: Set<Int> = []
        var dealtWith = 0
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    /// Rows that runs which have ended dealt with so far.
    var dealtWith: Int { state.withLock { $0.dealtWith } }

    /// Makes one run, which is under way meanwhile.
    ///
    /// - Returns: how many rows it dealt with.
    func counting(_ run: () async throws -> Int) async throws -> Int {
        let number = begin()
        var count = 0
        defer { end(number, dealtWith: count) }
        count = try await run()
        return count
    }

    /// Waits until every run that is under way now has ended; each has a limit (`Job.limit`). Those that begin meanwhile are not waited for.
    func settled() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                guard !state.running.isEmpty else { return true }
                state.waiters.append(Waiter(runs: state.running, continuation: continuation))
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    private func begin() -> Int {
        state.withLock { state in
            state.begun += 1
            state.running.insert(state.begun)
            return state.begun
        }
    }

    private func end(_ number: Int, dealtWith count: Int) {
        let served = state.withLock { state in
            state.running.remove(number)
            state.dealtWith += count
            for index in state.waiters.indices { state.waiters[index].runs.remove(number) }
            let served = state.waiters.filter(\.runs.isEmpty)
            state.waiters.removeAll(where: \.runs.isEmpty)
            return served
        }
        for waiter in served { waiter.continuation.resume() }
    }
}

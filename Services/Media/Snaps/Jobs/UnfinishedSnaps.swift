internal import ServiceRuntime

/// Brings snaps to their end whose request died.
struct UnfinishedSnaps: Sendable {
    let operations: SnapOperations

    var job: Job {
        let repository = operations.repository
        return Job("unfinished_snaps", every: .seconds(2), oldestDue: { try await repository.oldestStranded() }) { _ in
            try await operations.sweep()
        }
    }
}

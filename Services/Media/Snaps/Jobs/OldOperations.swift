internal import Kernel
internal import ServiceRuntime

/// Expires what no repeat can ask for any more: keys after 24 h (PF-4), answers after 48 h (a date and its tolerance are shorter, PH-3).
/// Void operations go after an hour, with whatever a maker that died left of them in the blob store.
struct OldOperations: Sendable {
    private static let batch = 100
    let operations: SnapOperations

    var job: Job {
        Job("old_snap_operations", every: .seconds(600)) { [operations] now in
            let void = try await operations.repository.void(before: now - .hours(1), count: Self.batch)
            for operation in void { try await operations.deleteRenditions(of: operation) }
            try await operations.repository.delete(void.map(\.id))
            let expired = try await operations.repository.expire(keysBefore: now - .hours(24), answersBefore: now - .hours(48))
            return void.count + expired
        }
    }
}

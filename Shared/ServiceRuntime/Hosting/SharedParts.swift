private import Synchronization

/// What the features of one replica share, one value of each type.
final class SharedParts: Sendable {
    private let parts = Mutex<[ObjectIdentifier: any Sendable]>([:])

    /// The value that was added first; nil when none of the type was.
    func find<Part: Sendable>(_ type: Part.Type) -> Part? { parts.withLock { $0[ObjectIdentifier(type)] as? Part } }

    /// Adds a value unless there is one of its type.
    func add<Part: Sendable>(_ part: Part) {
        parts.withLock { parts in
            if parts[ObjectIdentifier(Part.self)] == nil { parts[ObjectIdentifier(Part.self)] = part }
        }
    }
}

extension ServiceEnvironment {
    /// What a replica should have once although several features use it: a pool of threads, a cache. The first feature that asks makes it, the
    /// others get the same. Features are assembled one after the other.
    ///
    /// - Parameter make: makes the value; one of each type.
    /// - Throws: whatever `make` throws.
    public func shared<Part: Sendable>(_ make: (ServiceEnvironment) async throws -> Part) async throws -> Part {
        if let known = parts.find(Part.self) { return known }
        let part = try await make(self)
        parts.add(part)
        return part
    }
}

internal import Kernel
internal import MediaDomain
internal import Synchronization

/// A patch as it was when a map asked for it (PL-4).
struct MapPatch: Hashable, Sendable {
    let id: Int64
    /// Grows whenever posts come into view for guests, or go out of it, in its area; nil when that is too wide to be watched.
    let changes: Int64?
    /// When the database server started that says so: one that takes the place of another may have lost changes, and count to the same number again.
    let server: Instant
}

/// A post of a map.
struct MapPost: Sendable {
    let pin: PlacePin
    let author: UserID
}

/// The posts of patches that guests may see, and the clusters that these make.
final class MapPosts: Sendable {
    let posts: [MapPost]
    private let clusters: PlaceClusters
    private let authors: Set<UserID>

    init(_ posts: [MapPost]) {
        self.posts = posts
        clusters = PlaceClusters(posts.map(\.pin))
        authors = Set(posts.map(\.author))
    }

    /// The clusters as a reader sees them.
    ///
    /// - Parameter unseen: authors of whom the reader sees nothing.
    func clusters(without unseen: Set<UserID>) -> PlaceClusters {
        unseen.isDisjoint(with: authors) ? clusters : PlaceClusters(posts.filter { !unseen.contains($0.author) }.map(\.pin))
    }
}

/// Keeps the posts of patches while these have not changed, which the database says with each map: what a reader sees is never older.
final class KnownMapPosts: Sendable {
    private struct Entry {
        let patches: [MapPatch]
        /// nil: more than are looked at.
        let posts: MapPosts?
        var lastUse: UInt64
        /// Some 300 B each.
        var size: Int { (posts?.posts.count ?? 0) + 10 }
    }

    private struct State {
        /// By the ids of the patches.
        var entries: [[Int64]: Entry] = [:]
        var size = 0
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let loads = SingleFlight<[MapPatch], MapPosts?>()
    private let capacity: Int

    /// - Parameter capacity: posts that are kept at most.
    init(capacity: Int) { self.capacity = capacity }

    /// The posts of patches.
    ///
    /// - Parameters:
    ///   - patches: in the order of their ids.
    ///   - load: reads them; nil when there are more than are looked at.
    func posts(of patches: [MapPatch], _ load: @escaping @Sendable () async throws -> MapPosts?) async throws -> MapPosts? {
        guard patches.allSatisfy({ $0.changes != nil }) else { return try await load() }
        if let known = known(patches) { return known.posts }
        // Read after `patches`: posts that came meanwhile may be among them, and the next map asks again.
        return try await loads.run(patches) { [self] in
            let posts = try await load()
            keep(Entry(patches: patches, posts: posts, lastUse: 0))
            return posts
        }
    }

    private func known(_ patches: [MapPatch]) -> Entry? {
        let ids = patches.map(\.id)
        return state.withLock { state in
            guard state.entries[ids]?.patches == patches else { return nil }
            state.uses += 1
            state.entries[ids]?.lastUse = state.uses
            return state.entries[ids]
        }
    }

    private func keep(_ entry: Entry) {
        state.withLock { state in
            let ids = entry.patches.map(\.id)
            remove(ids, &state)
            guard entry.size <= capacity else { return }
            while state.size + entry.size > capacity, let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                remove(oldest.key, &state)
            }
            state.uses += 1
            state.entries[ids] = entry
            state.entries[ids]?.lastUse = state.uses
            state.size += entry.size
        }
    }

    private func remove(_ ids: [Int64], _ state: inout State) {
        if let old = state.entries.removeValue(forKey: ids) { state.size -= old.size }
    }
}

internal import BlobStore
internal import Kernel
internal import MediaCore
internal import Runtime

/// Compares the blob store with the tables: every blob has a row that knows it, every row has its blobs. Changes nothing, and may run while
/// the service does: what looks wrong is checked again before it is reported.
struct BlobCheck: Sendable {
    /// A blob without a row, a row without a blob, or a marker that is too many or too few.
    struct Difference: Sendable, CustomStringConvertible {
        let description: String
    }

    struct Result: Sendable {
        var blobs = 0
        var rows = 0
        var differences: [Difference] = []
    }

    private static let page = 500
    /// Uploads are collected after an hour, every five minutes; double that.
    private static let longestUpload = Interval.minutes(130)

    let repository: BlobCheckRepository
    let blobs: any BlobStore
    let tables: [BlobTable]

    /// - Parameter age: blobs younger than this are not judged.
    func run(olderThan age: Interval) async throws -> Result {
        var result = Result()
        let now = SystemClock.now()
        try await checkBlobs(&result, before: now - age, uploadsBefore: now - max(age, Self.longestUpload))
        for table in tables { try await checkRows(of: table, &result) }
        try await checkMarkers(&result)
        try await checkHidden(&result)
        return result
    }

    private func checkBlobs(_ result: inout Result, before limit: Instant, uploadsBefore uploadLimit: Instant) async throws {
        var last: BlobKey?
        while true {
            let found = try await blobs.list(prefix: "", after: last, limit: Self.page)
            guard let end = found.last else { return }
            result.blobs += found.count
            last = end.key
            var suspects: [BlobKey] = []
            var ofTables: [String: [BlobKey]] = [:]
            for blob in found where blob.modified < limit {
                let folder = String(blob.key.description.prefix { $0 != "/" })
                if folder == "incoming" {
                    if blob.modified < uploadLimit { suspects.append(blob.key) }
                } else if folder != "exports", folder != "habit-files" {
                    // Auth keeps exports, and streaks files of habits; they delete them after a few days.
                    ofTables[folder, default: []].append(blob.key)
                }
            }
            for (folder, keys) in ofTables { suspects += try await unknown(keys, in: folder) }
            for key in suspects.sorted() where try await blobs.info(of: key) != nil {
                result.differences.append(Difference(description: "no row knows the blob \(key)"))
            }
        }
    }

    private func unknown(_ keys: [BlobKey], in folder: String) async throws -> [BlobKey] {
        func segment(_ number: Int, _ key: BlobKey) -> Substring? {
            let segments = key.description.split(separator: "/")
            return segments.indices.contains(number) ? segments[number] : nil
        }
        if folder == "hidden" { return try await needlesslyHidden(keys) }
        if folder == "closed" {
            let people = keys.compactMap { segment(1, $0).flatMap { UserID(String($0)) } }
            let closed = Set(try await repository.closedPictures(of: people).compactMap { try BlobKey($0).closing })
            return keys.filter { !closed.contains($0) }
        }
        let (changing, withheld) = try await repository.owners(keys.compactMap { segment(1, $0).flatMap { UserID(String($0)) } })
        func isOf(_ people: Set<UserID>, _ key: BlobKey) -> Bool {
            segment(1, key).flatMap { UserID(String($0)) }.map(people.contains) ?? false
        }
        let rest = keys.filter { !isOf(changing, $0) }
        if folder == "withheld" { return rest.filter { !isOf(withheld, $0) } }
        guard let table = tables.first(where: { $0.folder == folder }) else { return rest }
        let ids = rest.map { segment(table.idSegment, $0).flatMap { OperationID(String($0.prefix { $0 != "." })) } }
        let known = try await repository.known(ids.compactMap { $0 }, by: table)
        return zip(rest, ids).filter { _, id in id.map { !known.contains($0) } ?? true }.map(\.0)
    }

    private func needlesslyHidden(_ keys: [BlobKey]) async throws -> [BlobKey] {
        let named = keys.map { key in key.description.split(separator: "/").dropFirst().compactMap { UserID(String($0)) } }
        let (hidden, changing) = try await repository.hiddenPairs(of: named.compactMap(\.first))
        return zip(keys, named).filter { _, pair in !hidden.contains(pair) && !changing.contains(pair) }.map(\.0)
    }

    private func checkHidden(_ result: inout Result) async throws {
        var last = UserID(high: 0, low: 0)
        while true {
            let people = try await repository.blockers(after: last, limit: Self.page)
            guard let end = people.last else { return }
            last = end
            for pair in try await repository.hiddenPairs(of: people).hidden
            where try await blobs.info(of: try BlobKey("hidden/\(pair[0])/\(pair[1])")) == nil {
                let (hidden, changing) = try await repository.hiddenPairs(of: [pair[0]])
                guard hidden.contains(pair), !changing.contains(pair) else { continue }
                result.differences.append(
                    Difference(description: "\(pair[0]) is hidden from \(pair[1]), and the blob store does not know")
                )
            }
        }
    }

    private func checkRows(of table: BlobTable, _ result: inout Result) async throws {
        var last = OperationID(high: 0, low: 0)
        while true {
            let claims = try await repository.claims(of: table, after: last, limit: Self.page)
            guard let end = claims.last else { return }
            result.rows += claims.count
            last = end.id
            for claim in claims {
                for key in claim.keys where try await blobs.info(of: try BlobKey(key)) == nil {
                    guard try await repository.stillClaims(claim, of: table) else { continue }
                    result.differences.append(Difference(description: "the \(table.name) \(claim.id) has no blob \(key)"))
                }
            }
        }
    }

    private func checkMarkers(_ result: inout Result) async throws {
        var last = UserID(high: 0, low: 0)
        while true {
            let people = try await repository.withheld(after: last, limit: Self.page)
            guard let end = people.last else { return }
            last = end
            for user in people where try await blobs.info(of: try BlobKey("withheld/\(user)")) == nil {
                let (changing, withheld) = try await repository.owners([user])
                guard withheld.contains(user), !changing.contains(user) else { continue }
                result.differences.append(Difference(description: "\(user) is withheld, and the blob store does not know"))
            }
        }
    }
}

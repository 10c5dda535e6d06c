import Foundation
import Kernel

/// The end of a run: what killed processes left behind is collected, and then every byte belongs to a user.
struct Collection: Sendable {
    /// What lay there before.
    struct Leftovers: Sendable {
        var uploads = 0, operations = 0
    }

    let system: ChaosSystem

    /// Lets three hours pass and looks again.
    ///
    /// - Parameter snaps: how many there are.
    func collect(snaps: Int, within limit: Duration) async throws -> (leftovers: Leftovers, violations: [String]) {
        let leftovers = Leftovers(uploads: system.incoming().count, operations: try await void())
        // Uploads are as old as the machine's clock says, which we do not move.
        let past = Date(timeIntervalSinceNow: -3 * 3_600)
        for name in system.incoming() {
            try? FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: "\(system.blobs)/incoming/\(name)")
        }
        try await system.go(to: try await system.now() + .hours(3))
        var violations = try await Verifier.settled(within: limit) {
            var found: [String] = []
            let files = [("incoming", system.incoming()), (".temporary", system.halfWritten())]
            for (folder, names) in files where !names.isEmpty { found.append("\(names.count) files are left in \(folder)") }
            let operations = try await void()
            if operations > 0 { found.append("\(operations) void operations are left") }
            return found
        }
        let check = try await system.checkBlobs()
        if check.status != 0 { violations += check.transcript.split(separator: "\n").map { "check-blobs: \($0)" } }
        let files = FileManager.default.enumerator(atPath: system.blobs + "/snaps")?.compactMap { $0 as? String } ?? []
        let photos = files.count { $0.hasSuffix(".jpg") }
        if photos != snaps * 2 { violations.append("\(photos) renditions of \(snaps) snaps") }
        return (leftovers, violations)
    }

    private func void() async throws -> Int {
        let rows = try await system.database.query("SELECT count(*) FROM media.snap_operation WHERE state = 3")
        return Int(try rows.first?.decode(as: Int64.self) ?? 0)
    }
}

import BlobStore
import Cryptography
import Foundation
import Kernel
import Testing

/// What every store keeps to, whatever is behind it.
@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    private func key(_ text: String) throws -> BlobKey { try BlobKey(text) }

    @Test(arguments: StoreKind.allCases)
    func `what is put in chunks is read back whole and in ranges`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) }
            let parts = stride(from: 0, to: bytes.count, by: 30_011).map { Array(bytes[$0..<min($0 + 30_011, bytes.count)]) }
            let stored = try await store.put(key("a/b/photo.jpg"), from: chunks(parts), limit: 700_000)
            let isRightHash = stored.sha256 == Array(SHA256.hash(data: bytes))
            #expect(isRightHash && stored.info.size == 700_000)
            let isWhole = try await store.read(key("a/b/photo.jpg"), limit: 700_000) == bytes
            #expect(isWhole)
            for (asked, given) in [
                (0..<1, 0..<1), (699_999..<900_000, 699_999..<700_000), (100_000..<600_000, 100_000..<600_000),
                (0..<262_144, 0..<262_144), (262_143..<262_145, 262_143..<262_145), (5..<5, 5..<5),
            ] {
                let blob = try await store.get(key("a/b/photo.jpg"), range: Int64(asked.lowerBound)..<Int64(asked.upperBound))
                var read: [UInt8] = []
                for try await chunk in blob.body { read += chunk }
                let isRight = read == Array(bytes[given])
                #expect(isRight && blob.info.size == 700_000 && blob.range == Int64(given.lowerBound)..<Int64(given.upperBound))
            }
            let info = try #require(try await store.info(of: key("a/b/photo.jpg")))
            #expect(info.key == stored.info.key && info.size == 700_000)
            #expect(abs(info.modified.seconds - stored.info.modified.seconds) <= 2)
            let listed = try await store.list(prefix: "", after: nil, limit: 10)
            #expect(listed.map(\.key) == [try key("a/b/photo.jpg")] && listed[0].size == 700_000)
            // What collectors of garbage go by.
            #expect(abs(listed[0].modified.seconds - info.modified.seconds) <= 1)
            #expect(abs(SystemClock.now().seconds - info.modified.seconds) < 300)
            #expect(
                await reason { _ = try await store.get(key("a/b/photo.jpg"), range: 700_000..<700_001) }
                    == "RANGE_NOT_SATISFIABLE"
            )
            #expect(await reason { _ = try await store.get(key("a/b/photo.jpg"), range: -1..<1) } == "RANGE_NOT_SATISFIABLE")
            #expect(await reason { _ = try await store.read(key("a/b/photo.jpg"), limit: 699_999) } == "FILE_TOO_LARGE")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an empty blob is a blob`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            try await store.put(key("empty"), [])
            #expect(try await store.read(key("empty"), limit: 0).isEmpty)
            let blob = try await store.get(key("empty"), range: nil)
            #expect(blob.info.size == 0 && blob.range == 0..<0)
            for try await chunk in blob.body { #expect(chunk.isEmpty) }
            #expect(await reason { _ = try await store.get(key("empty"), range: 1..<2) } == "RANGE_NOT_SATISFIABLE")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is written again is replaced, and what is deleted is gone`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            try await store.put(key("x/y"), [1])
            try await store.put(key("x/y"), [2, 3])
            #expect(try await store.read(key("x/y"), limit: 10) == [2, 3])
            try await store.delete(key("x/y"))
            try await store.delete(key("x/y"))
            #expect(try await store.info(of: key("x/y")) == nil)
            #expect(await reason { _ = try await store.get(key("x/y"), range: nil) } == "NOT_FOUND")
            #expect(await reason { _ = try await store.read(key("x/y"), limit: 10) } == "NOT_FOUND")
            #expect(await reason { try await store.copy(key("x/y"), to: key("z")) } == "NOT_FOUND")
            #expect(await reason { try await store.move(key("x/y"), to: key("z")) } == "NOT_FOUND")
            #expect(try await store.list(prefix: "", after: nil, limit: 10).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an upload that fails leaves nothing behind`(kind: StoreKind) async throws {
        struct Broken: Error {}
        try await withStore(kind) { store in
            let part = [UInt8](repeating: 7, count: 200_000)
            #expect(
                await reason { _ = try await store.put(key("a/big"), from: chunks([part, part]), limit: 399_999) }
                    == "FILE_TOO_LARGE"
            )
            #expect(
                await reason { _ = try await store.put(key("a/cut"), from: chunks([part], then: Broken()), limit: 1 << 30) }
                    == "Broken"
            )
            let endless = AsyncStream<[UInt8]> { $0.yield(part) }
            let upload = Task { [store] in try await store.put(try BlobKey("a/cancelled"), from: endless, limit: 1 << 30) }
            upload.cancel()
            let outcome = await reason { _ = try await upload.value }
            let listed = try await store.list(prefix: "", after: nil, limit: 10)
            #expect(outcome == "CancellationError" && listed.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `copies and moves have the same bytes`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }
            try await store.put(key("incoming/1"), bytes)
            try await store.copy(key("incoming/1"), to: key("kept/copy"))
            try await store.move(key("incoming/1"), to: key("kept/moved"))
            for name in ["kept/copy", "kept/moved"] {
                let isSame = try await store.read(key(name), limit: 300_000) == bytes
                #expect(isSame)
            }
            #expect(try await store.info(of: key("incoming/1")) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pages of a listing give every key once, in order`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            #expect(try await store.list(prefix: "", after: nil, limit: 10).isEmpty)
            let names = ["a", "a-b", "a.b", "b/1", "b/2/x", "b/2-y", "b/20", "b.c/z", "c/d/e/f", "incoming/9", "incoming/10"]
            for name in names { try await store.put(key(name), Array(name.utf8)) }
            let ordered = try names.map(key).sorted()
            for limit in [1, 2, 3, 100] {
                var listed: [BlobKey] = []
                while case let page = try await store.list(prefix: "", after: listed.last, limit: limit), !page.isEmpty {
                    #expect(page.allSatisfy { $0.size == $0.key.description.utf8.count })
                    listed += page.map(\.key)
                }
                #expect(listed == ordered)
            }
            for prefix in ["b/", "b", "b/2", "incoming/", "zzz", "a"] {
                let listed = try await store.list(prefix: prefix, after: nil, limit: 100).map(\.key)
                #expect(listed == ordered.filter { $0.description.hasPrefix(prefix) }, "prefix \(prefix)")
            }
            #expect(await reason { _ = try await store.list(prefix: "../", after: nil, limit: 1) } == "VALIDATION_ERROR")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `many work at once`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<12 {
                    group.addTask { [store] in
                        for turn in 0..<3 {
                            let key = try BlobKey("shared/deep/\(writer)")
                            try await store.put(key, [UInt8](repeating: UInt8(turn), count: 1 + writer * 20_000))
                            let read = try await store.read(key, limit: 1 << 20)
                            #expect(read.count == 1 + writer * 20_000 && read.allSatisfy { $0 == UInt8(turn) })
                            try await store.delete(key)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.list(prefix: "", after: nil, limit: 10).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `blobs of an owner are withheld and released`(kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let owner = UserID(high: 1, low: 1)
            let photo = try key("snaps/\(owner)/2026-01-02/one/display.jpg")
            try await store.put(photo, [1])
            try await store.withhold(owner)
            #expect(try await store.isWithheld(photo))
            try await store.release(owner)
            #expect(try await !store.isWithheld(photo))
        }
    }
}

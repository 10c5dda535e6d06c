import BlobStore
import Foundation
import Kernel
import Testing

@Suite struct LocalBlobStoreTests {
    private func key(_ text: String) throws -> BlobKey { try BlobKey(text) }

    @Test func `a reader of replaced or deleted bytes reads them to their end`() async throws {
        try await withStore { store in
            let old = [UInt8](repeating: 1, count: 400_000)
            try await store.put(key("x"), old)
            var iterator = try await store.get(key("x"), range: nil).body.makeAsyncIterator()
            var read = try #require(try await iterator.next())
            try await store.put(key("x"), [2])
            #expect(try await store.read(key("x"), limit: 10) == [2])
            try await store.delete(key("x"))
            while let chunk = try await iterator.next() { read += chunk }
            let isOld = read == old
            #expect(isOld)
        }
    }

    /// Some blobs are private: photos that are not revealed yet, exports of personal data.
    @Test func `no other user but the owner and the group may enter its folders or read its files`() async throws {
        try await withStore { store in
            try await store.put(key("a/b/x"), [1])
            var paths = ["", "/.temporary", "/a", "/a/b"]
            paths += files(below: store.folder).map { "/" + $0 }
            #expect(paths.count > 4)
            for path in paths {
                let attributes = try FileManager.default.attributesOfItem(atPath: store.folder + path)
                let mode = try #require(attributes[.posixPermissions] as? NSNumber).intValue
                #expect(mode & 0o027 == 0, "\(path) has \(String(mode, radix: 8))")
            }
        }
    }

    @Test func `an upload that fails leaves nothing behind`() async throws {
        struct Broken: Error {}
        try await withStore { store in
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
            let upload = Task { try await store.put(try BlobKey("a/cancelled"), from: endless, limit: 1 << 30) }
            upload.cancel()
            let outcome = await reason { _ = try await upload.value }
            #expect(outcome == "CancellationError")
            let listed = try await store.list(prefix: "", after: nil, limit: 10)
            #expect(listed.isEmpty && files(below: store.folder).isEmpty)
        }
    }

    @Test func `what a crash left behind is swept but not what is being written`() async throws {
        try await withStore { store in
            try await store.prepare()
            let temporary = store.folder + "/.temporary"
            try Data([1, 2, 3]).write(to: URL(filePath: temporary + "/abandoned"))
            let (stream, feed) = AsyncStream<[UInt8]>.makeStream()
            let upload = Task { try await store.put(try BlobKey("slow"), from: stream, limit: 1 << 20) }
            // Two chunks are only taken once the writer exists.
            feed.yield([UInt8](repeating: 5, count: 200_000))
            let deadline = ContinuousClock.now + .seconds(60)
            while files(below: temporary).count < 2, ContinuousClock.now < deadline { await Task.yield() }
            try await store.prepare()
            #expect(files(below: temporary).count == 1 && !files(below: temporary).contains("abandoned"))
            feed.finish()
            #expect(try await upload.value.info.size == 200_000)
        }
    }

    @Test func `a full or unusable disk is a clear refusal`() async throws {
        try await withStore(minimumFree: .max) { store in
            #expect(await reason { try await store.put(key("a"), [1]) } == "STORAGE_FULL")
            #expect(files(below: store.folder).isEmpty)
        }
        let nowhere = LocalBlobStore(folder: "/proc/no/such", logger: silent)
        #expect(await reason { try await nowhere.put(key("a"), [1]) } == "STORAGE_UNAVAILABLE")
        #expect(await reason { try await nowhere.prepare() } == "STORAGE_UNAVAILABLE")
    }

    /// A limit on the size of files makes a write fail half-way, as a full disk does.
    @Test func `a write that fails half way leaves nothing behind`() async throws {
        try await withScratchFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit(rlim_cur: 300_000, rlim_max: 300_000)
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
                let store = LocalBlobStore(folder: folder, minimumFree: 0, logger: silent)
                do {
                    try await store.put(BlobKey("a/b"), [UInt8](repeating: 1, count: 400_000))
                } catch let error as ServiceError where error.reason == "STORAGE_UNAVAILABLE" {
                    exit(files(below: folder).isEmpty ? EXIT_SUCCESS : EXIT_FAILURE)
                }
                exit(EXIT_FAILURE)
            }
        }
    }

    @Test func `copies and moves are young`() async throws {
        try await withStore { store in
            try await store.put(key("incoming/1"), [1, 2])
            let old = Date(timeIntervalSince1970: 1_000_000)
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: store.folder + "/incoming/1")
            #expect(try await store.info(of: key("incoming/1"))?.modified == Instant(seconds: 1_000_000))
            try await store.copy(key("incoming/1"), to: key("kept/copy"))
            try await store.move(key("incoming/1"), to: key("kept/moved"))
            for name in ["kept/copy", "kept/moved"] {
                #expect(try await store.read(key(name), limit: 10) == [1, 2])
                let modified = try #require(await store.info(of: key(name))?.modified)
                #expect(modified > Instant(seconds: 1_700_000_000))
            }
            #expect(try await store.info(of: key("incoming/1")) == nil)
            #expect(!FileManager.default.fileExists(atPath: store.folder + "/incoming"), "empty folders go")
            #expect(await reason { try await store.move(key("incoming/1"), to: key("b")) } == "NOT_FOUND")
            #expect(await reason { try await store.copy(key("kept"), to: key("b")) } == "NOT_FOUND")
        }
    }

    @Test func `missing blobs and conflicts are said`() async throws {
        try await withStore { store in
            #expect(try await store.list(prefix: "", after: nil, limit: 10).isEmpty)
            #expect(try await store.info(of: key("none")) == nil)
            try await store.delete(key("none/at/all"))
            #expect(await reason { _ = try await store.get(key("none"), range: nil) } == "NOT_FOUND")
            try await store.put(key("a"), [1])
            #expect(try await store.info(of: key("a/b")) == nil)
            #expect(await reason { _ = try await store.get(key("a/b"), range: nil) } == "NOT_FOUND")
            #expect(await reason { try await store.put(key("a/b"), [1]) } == "KEY_CONFLICT")
            try await store.put(key("c/d"), [1])
            #expect(await reason { try await store.put(key("c"), [1]) } == "KEY_CONFLICT")
            #expect(try await store.info(of: key("c")) == nil)
            #expect(files(below: store.folder) == ["a", "c/d"])
        }
    }

    @Test func `concurrent writers and deleters of one folder do not disturb each other`() async throws {
        try await withStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        for turn in 0..<20 {
                            let key = try BlobKey("shared/deep/\(writer)")
                            try await store.put(key, [UInt8(turn)])
                            #expect(try await store.read(key, limit: 1) == [UInt8(turn)])
                            try await store.delete(key)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(files(below: store.folder).isEmpty)
        }
    }

    @Test func `keys cannot lead out of the store`() {
        let bad = [
            "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.hidden", ".temporary/x", "a b", "a\0b", "ä", "a\\b",
            "a%2e",
            String(repeating: "x", count: 129), Array(repeating: "a", count: 9).joined(separator: "/"), "a\n",
            Array(repeating: String(repeating: "x", count: 100), count: 6).joined(separator: "/"),
        ]
        for text in bad { #expect(throws: ServiceError.self, "\(text)") { try BlobKey(text) } }
        for text in ["a", "A-Z_09.jpg", "snaps/2026-01-02/x/display.jpg"] { #expect((try? BlobKey(text))?.description == text) }
    }
}

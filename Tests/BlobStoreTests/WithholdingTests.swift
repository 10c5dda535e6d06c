import BlobStore
import Kernel
import Testing

/// Blobs that are kept and not served (PH-6).
@Suite struct WithholdingTests {
    private let owner = UserID(high: 1, low: 1)
    private let other = UserID(high: 1, low: 2)

    @Test func `all blobs of an owner are withheld at once, and no other's`() async throws {
        try await withStore { store in
            let keys = try ["snaps/\(owner)/2026-01-02/one/display.jpg", "avatars/\(owner)/a.png"].map { try BlobKey($0) }
            let foreign = try BlobKey("snaps/\(other)/2026-01-02/two/display.jpg")
            for key in keys + [foreign] { try await store.put(key, [1, 2, 3]) }
            for key in keys { #expect(try await !store.isWithheld(key)) }
            try await store.withhold(owner)
            try await store.withhold(owner)
            for key in keys {
                #expect(try await store.isWithheld(key))
                #expect(try await store.info(of: key) != nil, "kept")
            }
            #expect(try await !store.isWithheld(foreign))
            try await store.release(owner)
            try await store.release(owner)
            for key in keys { #expect(try await !store.isWithheld(key)) }
            #expect(try await store.list(prefix: "withheld/", after: nil, limit: 10).isEmpty)
        }
    }

    @Test func `one picture is closed with all its renditions, and no other; moderators see it`() async throws {
        try await withStore { store in
            for folder in ["snaps/\(owner)/2026-01-02", "posts/\(owner)"] {
                let (one, two) = ("\(folder)/one", "\(folder)/two")
                let keys = try ["display.jpg", "thumbnail.jpg"].map { try BlobKey("\(one)/\($0)") }
                let others = try [BlobKey("\(two)/display.jpg"), BlobKey("avatars/\(owner)/one/a.png")]
                for key in keys + others { try await store.put(key, [1]) }
                for _ in 0..<2 { try await store.close(folderOf: keys[0]) }
                for key in keys {
                    #expect(try await store.isWithheld(key), "\(key)")
                    #expect(try await store.isWithheld(key, from: other), "\(key)")
                    #expect(try await !store.isWithheld(key, from: owner), "a link that names the owner")
                    let limit = Instant(seconds: 2_000_000_000)
                    #expect(try await !store.isWithheld(key, from: .moderators, expires: limit), "\(key)")
                }
                for key in others { #expect(try await !store.isWithheld(key), "\(key)") }
                for marker in try await store.list(prefix: "closed/", after: nil, limit: 10) {
                    #expect(try await store.isWithheld(marker.key), "markers are not served")
                }
                try await store.withhold(owner)
                #expect(try await store.isWithheld(keys[0], from: .moderators), "the owner is withheld")
                try await store.release(owner)
                for _ in 0..<2 { try await store.reopen(folderOf: keys[0]) }
                for key in keys { #expect(try await !store.isWithheld(key), "\(key)") }
                #expect(try await store.list(prefix: "closed/", after: nil, limit: 10).isEmpty)
            }
        }
    }

    @Test func `an owner's blobs are hidden from one viewer, and from no other`() async throws {
        try await withStore { store in
            let key = try BlobKey("snaps/\(owner)/2026-01-02/one/display.jpg")
            try await store.put(key, [1])
            try await store.hide(owner, from: other, at: Instant(seconds: 2_000_000_000 - 86_400))
            #expect(try await store.isWithheld(key, from: other))
            #expect(try await !store.isWithheld(key, from: UserID(high: 1, low: 3)))
            #expect(try await !store.isWithheld(key))
            #expect(try await store.isWithheld(try BlobKey("hidden/\(owner)/\(other)")), "markers are not served")
            let limit = Instant(seconds: 2_000_000_000)
            try await store.show(owner, to: other, linksLive: .hours(24))
            try await store.show(owner, to: other, linksLive: .hours(24))
            #expect(try await store.isWithheld(key, from: other, expires: limit), "links of before stay dead")
            #expect(try await !store.isWithheld(key, from: other, expires: limit + .seconds(900)))
            #expect(try await !store.isWithheld(key, from: other), "made this moment")
            try await store.removeHidden(owner, from: other)
            try await store.removeHidden(owner, from: other)
            #expect(try await !store.isWithheld(key, from: other, expires: limit))
        }
    }

    @Test func `markers are not served, and a key without an owner is not withheld`() async throws {
        try await withStore { store in
            try await store.withhold(owner)
            #expect(try await store.isWithheld(try BlobKey("withheld/\(owner)")))
            #expect(try await !store.isWithheld(try BlobKey("readme")))
        }
    }
}

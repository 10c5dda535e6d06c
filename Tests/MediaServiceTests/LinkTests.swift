import BlobStore
import Foundation
import Kernel
import TestSupport
import Testing

@testable import MediaCore

/// Links to stored photos (PH-2).
@Suite struct LinkTests {
    private static let secret = "a media signing key for the tests of links"
    private let links: MediaLinks
    private let viewer: UserID

    init() throws {
        links = try MediaLinks(secret: Self.secret, base: "")
        viewer = try #require(UserID("0190c0de-0000-7000-8000-000000000001"))
    }

    /// What the gateway says to a link at an instant.
    private func holds(_ link: String, at now: Instant) throws -> Bool {
        let parts = try #require(URLComponents(string: link))
        let query = Dictionary(uniqueKeysWithValues: (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") })
        let key = String(parts.path.dropFirst("/media/".count))
        do {
            _ = try SignedURL(secret: Array(Self.secret.utf8)).verify(
                key: key,
                expires: query["exp"] ?? "",
                viewer: query["for"],
                signature: query["sig"] ?? "",
                now: now
            )
            return true
        } catch {
            #expect(error.reason == "LINK_EXPIRED")
            return false
        }
    }

    @Test(arguments: UInt64(1)...50) func `links made within the same quarter of an hour are the same`(seed: UInt64) throws {
        var random = Seeded(seed)
        let quarter = Instant(seconds: 900 * Int64.random(in: 0..<4_000_000, using: &random))
        let times = (0..<4).map { _ in quarter + Interval(microseconds: .random(in: 0..<900_000_000, using: &random)) }
        let made = Set(try times.map { try links.link("snaps/a/display.jpg", for: viewer, now: $0) })
        #expect(made.count == 1)
        #expect(try !made.contains(links.link("snaps/a/display.jpg", for: viewer, now: quarter + .minutes(15))))
        #expect(try !made.contains(links.link("snaps/a/display.jpg", now: quarter)))
        #expect(try !made.contains(links.link("snaps/a/thumbnail.jpg", for: viewer, now: quarter)))
    }

    @Test(arguments: UInt64(1)...50) func `a link holds for a day, at most a quarter of an hour less, and never longer`(
        seed: UInt64
    ) throws {
        var random = Seeded(seed)
        let now = Instant(microseconds: .random(in: 0..<4_000_000_000_000_000, using: &random))
        let link = try links.link("snaps/a/display.jpg", for: viewer, now: now)
        #expect(try holds(link, at: now))
        #expect(try holds(link, at: now + .minutes(23 * 60 + 45) - .seconds(1)))
        #expect(try !holds(link, at: now + .hours(24)))
    }
}

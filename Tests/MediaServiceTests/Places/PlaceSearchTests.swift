import Database
import Kernel
import MediaAPI
import TestSupport
import Testing

@testable import MediaPlaces

/// Words in captions and place names (PL-2).
@Suite(.timeLimit(.minutes(3))) struct PlaceSearchTests {
    private func post(_ world: PlaceWorld, _ number: UInt64, _ caption: String, at latitude: Double, _ longitude: Double)
        async throws -> PostID
    {
        let request = CreatePostRequest(
            photo: .init(key: "incoming/x", sha256: "\(number)"),
            latitude: latitude,
            longitude: longitude,
            caption: caption
        )
        let draft = try PostDraft(request, id: PlaceWorld.post(number), user: PlaceWorld.user(1), receivedAt: world.clock.now())
        try #require(try await world.posts.claim(draft, until: .epoch + .days(40_000)))
        try await world.database.transaction { sql in
            try #require(try await PostRepository.show(draft.id, RenderedPost(), sql))
        }
        world.clock.advance(by: .minutes(1))
        return draft.id
    }

    @Test func `posts are found by words of their caption, city and country`() async throws {
        try await PlaceWorld.with { world in
            let gate = try await post(world, 1, "Evening at the Gate", at: 52.5163, 13.3777)
            let tower = try await post(world, 2, "Soirée à la tour", at: 48.8584, 2.2945)
            let sea = try await post(world, 3, "Nothing but water, it's 'blue' & | ! :* \\", at: 45, -30)
            for (words, expected) in [
                ("evening", [gate]), ("EVEN gat", [gate]), ("berlin", [gate]), ("germ evening", [gate]), ("vening", []),
                ("soiree", [tower]), ("SOIRÉE", [tower]), ("soire\u{301}e", [tower]), ("paris france", [tower]),
                ("paris germany", []), ("water", [sea]), ("it's", [sea]), ("blue & | ! :*", [sea]), ("' OR 1=1 --", []),
                ("a", [tower, gate]),
            ] {
                #expect(try await world.all(ListPostsRequest(sort: "newest", q: words)) == expected, "\(words)")
                // As words that many posts have are looked for.
                #expect(
                    try await world.all(ListPostsRequest(bbox: "-180,-90,180,90", sort: "newest", q: words)) == expected,
                    "\(words)"
                )
            }
            #expect(try await world.all(ListPostsRequest(geohash: "u3", q: "evening")) == [gate])
            #expect(try await world.all(ListPostsRequest(geohash: "u0", q: "evening")) == [])
            #expect(try await world.all(ListPostsRequest(author: PlaceWorld.user(2), q: "evening")) == [])
            for words in ["", " ", "!?", "🌉"] {
                let error = await #expect(throws: ServiceError.self) { try await world.list(ListPostsRequest(q: words)) }
                #expect(error?.details.map(\.field) == ["q"], "\(words)")
            }
            let found = try #require(try await world.find(gate))
            #expect((found.city, found.country, found.countryCode) == ("Berlin", "Germany", "DE"))
            let far = try #require(try await world.find(sea))
            #expect((far.city, far.country, far.countryCode) == (nil, nil, nil))
        }
    }

    @Test func `posts of before get their names and words from a job`() async throws {
        try await PlaceWorld.with { world in
            let gate = try await post(world, 1, "Evening", at: 52.5163, 13.3777)
            try await world.database.execute(
                "UPDATE place_post SET is_named = false, city = NULL, country = NULL, country_code = NULL"
            )
            try await world.database.execute("DELETE FROM place_post_text")
            #expect(try await world.all(ListPostsRequest(q: "evening")) == [])
            let job = NamedPosts(posts: world.posts).job
            #expect(try await job.run(world.clock.now()) == 1)
            #expect(try await job.run(world.clock.now()) == 0)
            #expect(try await world.all(ListPostsRequest(q: "evening berlin")) == [gate])
            #expect(try await world.find(gate)?.city == "Berlin")
        }
    }
}

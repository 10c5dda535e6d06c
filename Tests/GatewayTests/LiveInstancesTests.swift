import Kernel
import TestSupport
import Testing
import Transcoding

@testable import GatewayService

@Suite("Live replicas and what they offer")
struct LiveInstancesTests {
    private static let (one, two, three) = (hash(1), hash(2), hash(3))

    private static func hash(_ digit: Int) -> String { String(repeating: "\(digit)", count: 64) }

    private func replica(_ service: String, _ id: String, _ version: String, _ descriptor: String?) -> ServiceInstance {
        ServiceInstance(name: service, id: id, version: version, metadata: descriptor.map { ["descriptor": $0] } ?? [:])
    }

    /// Rounds two seconds apart.
    private struct Rounds {
        var live: LiveInstances
        var now = ContinuousClock.now

        init(expected: [String] = []) { live = LiveInstances(expected: expected) }

        mutating func round(_ replicas: [ServiceInstance], after pause: Duration = .seconds(2)) {
            now = now.advanced(by: pause)
            live.answered(replicas, at: now)
        }
    }

    @Test func `of two versions both offer, the higher first`() {
        var rounds = Rounds()
        rounds.round([replica("roll", "a", "1.9.0", Self.two), replica("roll", "b", "1.10.0", Self.one)])
        #expect(rounds.live.offers == [.init(service: "roll", descriptors: [Self.one, Self.two])])
        rounds.round([replica("roll", "a", "1.9.0", Self.two), replica("roll", "b", "1.9.0", Self.one)])
        #expect(rounds.live.offers == [.init(service: "roll", descriptors: [Self.two, Self.one])], "of one version by hash")
    }

    @Test func `a replica that is silent for two rounds still offers, and after three it does not`() {
        var rounds = Rounds()
        let (old, new) = (replica("roll", "a", "1.0.0", Self.one), replica("roll", "b", "2.0.0", Self.two))
        rounds.round([old, new])
        for _ in 0..<2 { rounds.round([old]) }
        #expect(rounds.live.offers.first?.descriptors == [Self.two, Self.one])
        rounds.round([old])
        #expect(rounds.live.offers.first?.descriptors == [Self.one])
        rounds.round([old, new])
        #expect(rounds.live.offers.first?.descriptors == [Self.two, Self.one], "it is back")
    }

    @Test func `rounds in quick succession do not make a replica that pauses gone`() {
        var rounds = Rounds()
        rounds.round([replica("roll", "a", "1.0.0", Self.one)])
        for _ in 0..<14 { rounds.round([], after: .milliseconds(350)) }
        #expect(rounds.live.instances.map(\.id) == ["a"])
        rounds.round([], after: .milliseconds(350))
        #expect(rounds.live.instances.isEmpty)
    }

    @Test func `an expected service keeps its routes without a replica, another one loses them`() {
        var rounds = Rounds(expected: ["auth"])
        rounds.round([replica("auth", "a", "1.0.0", Self.one), replica("guest", "b", "1.0.0", Self.two)])
        for _ in 0..<3 { rounds.round([]) }
        #expect(rounds.live.offers == [.init(service: "auth", descriptors: [Self.one])])
        rounds.round([replica("auth", "c", "1.1.0", Self.three)])
        #expect(rounds.live.offers == [.init(service: "auth", descriptors: [Self.three])], "what comes after it replaces it")
    }

    @Test func `expected services come first, in their order`() {
        var rounds = Rounds(expected: ["social", "auth"])
        rounds.round(["auth", "abacus", "social", "zebra"].map { replica($0, "1", "1.0.0", Self.one) })
        #expect(rounds.live.offers.map(\.service) == ["social", "auth", "abacus", "zebra"])
    }

    @Test(arguments: [nil, "", "abc", hash(1).uppercased() + "x", String(repeating: "G", count: 64), ">" + hash(1).dropFirst()])
    func `a replica without a hash offers nothing`(descriptor: String?) {
        var rounds = Rounds()
        rounds.round([replica("roll", "a", "1.0.0", descriptor)])
        #expect(rounds.live.offers.isEmpty && rounds.live.instances.count == 1)
    }

    @Test func `versions are ordered by precedence`() {
        let rising = [
            "none", "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
            "1.0.0", "1.0.1", "1.9.0", "1.10.0", "2.0.0",
        ].map { SemanticVersion($0) }
        for (index, version) in rising.enumerated() {
            for (other, second) in rising.enumerated() { #expect((version < second) == (index < other)) }
        }
        #expect(SemanticVersion("1.0.0+a") == SemanticVersion("1.0.0+b"))
    }

    /// Versions of two services, of which each has methods, paths, words and rights of its own, and all overlap.
    private static func version(_ service: String, _ random: inout Seeded) -> HandmadeDescriptor {
        let paths = ["/api/a", "/api/b", "/api/{text}", "/api/a/{text}", "/api/b/c"]
        let names = ["First", "Second", "Third", "Fourth"].filter { _ in random.chance(70) }
        let methods = names.map { name in
            HandmadeDescriptor.Method(
                name: name,
                verb: random.pick(["GET", "POST", "PUT"]),
                path: random.pick(paths),
                auth: random.pick([1, 1, 1, 4, 6])
            )
        }
        let note = HandmadeDescriptor.Message(
            fields: random.chance(50) ? ["text"] : ["text", "title"],
            comment: random.pick(["A note.", "A text.", ""])
        )
        return HandmadeDescriptor(service: service, methods: methods, messages: [note])
    }

    /// What a gateway serves.
    private func routes(_ live: LiveInstances, _ sets: [String: DescriptorSet]) -> (routes: [String], page: [UInt8]) {
        let table = RouteTable()
        table.replace(
            with: live.offers.map { offer in
                RouteTable.Service(name: offer.service, sets: offer.descriptors.compactMap { sets[$0] })
            }
        )
        let routes = table.routes.map { "\($0.verb) \($0.template) \($0.subject) \($0.policy.auth)" }
        return (routes, OpenAPI.document(table.routes, title: "T", version: "1", today: CalendarDate(dayNumber: 20_455)))
    }

    @Test(arguments: 1...40) func `gateways that found the same replicas on different ways have the same routes`(seed: UInt64)
        throws
    {
        var random = Seeded(seed)
        let versions = (0..<6).map { number in
            let service = number < 3 ? "ants" : "bees"
            return (service, "1.\(Int.random(in: 0..<3, using: &random)).0", Self.version(service, &random))
        }
        let sets = try Dictionary(
            versions.map { ($0.2.hash, try DescriptorSet(serialized: $0.2.bytes)) },
            uniquingKeysWith: { first, _ in first }
        )
        let all = versions.enumerated().flatMap { number, version in
            (0..<2).map { replica(version.0, "\(number)-\($0)", version.1, version.2.hash) }
        }
        let final = all.filter { _ in random.chance(60) }
        func gateway(_ random: inout Seeded) -> LiveInstances {
            var rounds = Rounds(expected: ["bees"])
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                let percent = random.pick([0, 30, 70, 100])
                rounds.round(
                    all.filter { _ in random.chance(percent) }.shuffled(using: &random),
                    after: random.pick([.milliseconds(350), .seconds(2)])
                )
            }
            for _ in 0..<4 { rounds.round(final.shuffled(using: &random)) }
            return rounds.live
        }
        // A service without a replica has what it had before.
        guard final.contains(where: { $0.name == "bees" }) else { return }
        let first = routes(gateway(&random), sets)
        for _ in 0..<4 {
            let second = routes(gateway(&random), sets)
            #expect(first.routes == second.routes)
            #expect(first.page == second.page)
        }
    }
}

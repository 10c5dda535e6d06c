import Testing

@testable import GatewayService

@Suite("Settings that must be the same in every process")
struct SettingAgreementTests {
    private static let start = ContinuousClock.now

    private func replica(_ service: String, _ id: String, _ fingerprints: [String: String]) -> ServiceInstance {
        let metadata = Dictionary(uniqueKeysWithValues: fingerprints.map { (SettingAgreement.prefix + $0, $1) })
        return ServiceInstance(name: service, id: id, version: "1.0.0", metadata: metadata.merging(["descriptor": "x"]) { $1 })
    }

    private func looks(
        _ agreement: inout SettingAgreement,
        _ instances: [ServiceInstance],
        at seconds: Int...
    ) -> [[SettingAgreement.Difference]] {
        seconds.map { agreement.look(instances, at: Self.start.advanced(by: .seconds($0))) }
    }

    @Test func `that are the same, or that only one process has, are no difference`() {
        var agreement = SettingAgreement(own: ["media.signing-key": "a"])
        let instances = [
            replica("media", "1", ["media.signing-key": "a"]), replica("media", "2", ["media.signing-key": "a"]),
            replica("auth", "3", ["media.signing-key": "a", "auth.refresh-secret": "b"]), replica("social", "4", [:]),
        ]
        let found = looks(&agreement, instances, at: 0, 1_000)
        #expect(found == [[], []])
    }

    @Test func `that differ for two minutes are reported once, with who has which`() {
        var agreement = SettingAgreement(own: ["media.signing-key": "a"])
        let instances = [
            replica("auth", "1", ["auth.refresh-secret": "b"]), replica("auth", "2", ["auth.refresh-secret": "c"]),
            replica("media", "3", ["media.signing-key": "d"]),
        ]
        let found = looks(&agreement, instances, at: 0, 100, 121, 300)
        #expect(found.map(\.count) == [0, 0, 2, 0])
        #expect(
            found[2] == [
                .init(setting: "auth.refresh-secret", holders: ["b": ["auth 1"], "c": ["auth 2"]]),
                .init(setting: "media.signing-key", holders: ["a": ["gateway"], "d": ["media 3"]]),
            ]
        )
    }

    @Test func `that differ while replicas are restarted one by one are not reported, and a later difference is`() {
        var agreement = SettingAgreement(own: [:])
        let old = replica("auth", "1", ["auth.refresh-secret": "b"])
        let new = replica("auth", "2", ["auth.refresh-secret": "c"])
        let atFirst = looks(&agreement, [old, new], at: 0, 60)
        let between = looks(&agreement, [new], at: 100)
        let later = looks(&agreement, [old, new], at: 200, 250, 330)
        #expect(atFirst == [[], []] && between == [[]])
        #expect(later.map(\.count) == [0, 0, 1])
    }
}

import Kernel
import Testing

@testable import Outbox

/// Whose events protect a user asks those that apply them, and may (D23).
struct ProtectiveCallTests {
    @Test func `a service may ask those that apply its protective events, and no others`() {
        var asked: [String: Set<String>] = [:]
        for (subject, listed) in ProtectiveEvents.features {
            // evt.social.v1.UserBlocked
            asked[String(subject.split(separator: ".")[1]), default: []].formUnion(listed.keys)
        }
        let declared = ServiceCalls.methods.mapValues { calls in
            Set(calls.filter { $0.value.contains("AwaitEvents") }.keys)
        }
        #expect(asked == declared.filter { !$0.value.isEmpty })
    }
}

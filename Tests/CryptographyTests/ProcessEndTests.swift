import Processes
import TestSupport
import Testing

/// OpenSSL by itself frees in exit() what other threads still use.
struct ProcessEndTests {
    @Test func `a process ends as it wants while its threads hash, seal and sign`() async throws {
        let program = try builtProgram("exit-victim").path
        for _ in 0..<10 {
            let result = try await run(program, [], within: .seconds(60))
            #expect(result.status == 7, "\(result.errors.prefix(2_000))")
        }
    }
}

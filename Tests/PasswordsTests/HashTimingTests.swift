import Foundation
import Kernel
import Passwords
import Testing

/// Compares processor time, which two processes that share a core stretch for each other: suites called …TimingTests run when nothing else
/// does.
@Suite struct HashTimingTests {
    /// In a process of its own, where the processor time of children is that of the hasher's alone.
    @Test func `an unknown user costs as much as a wrong password`() async {
        await #expect(processExitsWith: .success) {
            func processorTime() -> Double {
                var usage = rusage()
                getrusage(RUSAGE_CHILDREN.rawValue, &usage)
                // Their sum is exact; how it is divided is guessed by what ran when the clock ticked.
                func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
                return seconds(usage.ru_utime) + seconds(usage.ru_stime)
            }
            let hash = try await PasswordHasher(cost: 9).hash("right", for: .init(.signIn, address: nil))
            // Its child ends a moment later: it must not count for the first that is compared.
            while processorTime() == 0 { try await Task.sleep(for: .milliseconds(5)) }
            func cost(_ password: String, _ hash: String?) async throws -> Double {
                let start = processorTime()
                var hasher: PasswordHasher? = PasswordHasher(cost: 9, threads: 1)
                // The first stranger costs the making of what strangers are compared with.
                for _ in 0..<8 where try await hasher?.verify(password, against: hash, for: .init(.signIn, address: nil)) != false
                {
                    exit(EXIT_FAILURE)
                }
                // Children count when they have ended: with the hasher, whose threads may hold it for a moment.
                hasher = nil
                while processorTime() == start { try await Task.sleep(for: .milliseconds(5)) }
                return processorTime() - start
            }
            let tries: [(password: String, hash: String?)] = [
                ("wrong", hash), ("x", nil), ("x", "garbage"), (String(repeating: "x", count: 100), hash),
            ]
            // The least of five each: noise, which neighbours make of processor time too, only adds. In turns, because they may make it for
            // seconds.
            var least = [Double](repeating: .infinity, count: tries.count)
            for _ in 0..<5 {
                for (index, (password, stored)) in tries.enumerated() {
                    least[index] = try await min(least[index], cost(password, stored))
                }
            }
            for taken in least.dropFirst() {
                guard taken > least[0] / 2, taken < least[0] * 2 else {
                    FileHandle.standardError.write(Data("processor time of each: \(least)\n".utf8))
                    exit(EXIT_FAILURE)
                }
            }
        }
    }
}

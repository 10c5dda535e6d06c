import Foundation
import Kernel
import Passwords
import Testing

@Suite struct PasswordHasherTests {
    private let hasher = PasswordHasher(cost: 4)

    @Test func aPasswordVerifiesAgainstItsOwnHashOnly() async throws {
        let hash = try await hasher.hash("correct horse – Ünïcödé 🔥")
        #expect(hash.hasPrefix("$2b$04$") && hash.utf8.count == 60)
        #expect(try await hasher.verify("correct horse – Ünïcödé 🔥", against: hash))
        #expect(try await !hasher.verify("correct horse", against: hash))
        #expect(try await hasher.hash("correct horse – Ünïcödé 🔥") != hash, "salts differ")
    }

    @Test func theHashIsThatOfOtherImplementations() async throws {
        // From the test vectors of OpenBSD's and jBCrypt's bcrypt.
        let known = "$2a$08$HqWuK6/Ng6sg9gQzbLrgb.Tl.ZHfXLhvt/SgVyWhQqgqcZ7ZuUtye"
        #expect(try await hasher.verify("", against: known))
        #expect(try await !hasher.verify("a", against: known))
        let other = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
        #expect(try await hasher.verify("a", against: other))
    }

    @Test func whatBcryptWouldCutOffIsRefused() async throws {
        let longest = String(repeating: "x", count: 72)
        let hash = try await hasher.hash(longest)
        #expect(try await hasher.verify(longest, against: hash))
        #expect(try await !hasher.verify(longest + "y", against: hash), "a longer password is not its prefix")
        for bad in [longest + "y", "nul\0inside", String(repeating: "é", count: 37)] {
            let error = await #expect(throws: ServiceError.self) { try await hasher.hash(bad, field: "new_password") }
            #expect(error?.reason == "VALIDATION_ERROR")
            #expect(error?.details.first?.field == "new_password")
        }
        let prefix = try await hasher.hash("nul")
        #expect(try await !hasher.verify("nul\0inside", against: prefix))
    }

    /// In a process of its own, where the processor time of children is that of the hasher's alone, however busy the machine is.
    @Test func anUnknownUserCostsAsMuchAsAWrongPassword() async {
        await #expect(processExitsWith: .success) {
            let hash = try await PasswordHasher(cost: 9).hash("right")
            func processorTime() -> Double {
                var usage = rusage()
                getrusage(RUSAGE_CHILDREN.rawValue, &usage)
                // Their sum is exact; how it is divided is guessed by what ran when the clock ticked.
                return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
            }
            func cost(_ password: String, _ hash: String?) async throws -> Double {
                let start = processorTime()
                var hasher: PasswordHasher? = PasswordHasher(cost: 9, threads: 1)
                // The first stranger costs the making of what strangers are compared with.
                for _ in 0..<8 where try await hasher?.verify(password, against: hash) != false { exit(EXIT_FAILURE) }
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

    @Test func aKilledProcessIsReplacedAndNobodyNotices() async throws {
        let hash = try await hasher.hash("p")
        for _ in 0..<3 {
            let children = hasher.processIDs
            #expect(!children.isEmpty)
            for child in children { kill(child, SIGKILL) }
            #expect(try await hasher.verify("p", against: hash))
        }
    }

    @Test func theProcessesAreSessionsOfLowPriorityWithoutTheParentsDescriptors() async throws {
        _ = try await hasher.hash("p")
        let child = try #require(hasher.processIDs.first)
        #expect(getsid(child) == child)
        #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(child)) == 5)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/fd")
        #expect(open == ["0"])
    }

    @Test func whoeverWouldWaitTooLongIsRefusedThoughTheQueueHasRoom() async throws {
        let hasher = PasswordHasher(cost: 10, threads: 1, queueLimit: 100, longestWait: .milliseconds(100))
        _ = try await hasher.hash("sets the pace")
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<30 { group.addTask { (try? await hasher.hash("p")) != nil } }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.contains(true) && outcomes.contains(false))
    }

    @Test func costsAreBoundedAndOldHashesRecognised() async throws {
        #expect(PasswordHasher(cost: 0).cost == 4)
        #expect(PasswordHasher(cost: 99).cost == 14)
        #expect(PasswordHasher().cost == 12)
        let hash = try await hasher.hash("p")
        #expect(!hasher.needsRehash(hash))
        #expect(PasswordHasher(cost: 5).needsRehash(hash))
        #expect(hasher.needsRehash("$1$md5"))
    }

    @Test func overloadIsRefusedAtOnceAndTheRestSucceeds() async throws {
        let hasher = PasswordHasher(cost: 10, threads: 1, queueLimit: 2)
        let outcomes = await withTaskGroup(of: ServiceError.Code?.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    do {
                        _ = try await hasher.hash("p")
                        return nil
                    } catch { return (error as? ServiceError)?.code ?? .unknown }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == nil }.count >= 3)
        #expect(outcomes.contains(.unavailable))
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .unavailable })
        #expect(try await hasher.verify("p", against: hasher.hash("p")), "the pool works on afterwards")
    }
}

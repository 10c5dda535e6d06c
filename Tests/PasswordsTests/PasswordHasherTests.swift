import Foundation
import Kernel
import Passwords
import Testing

/// Somebody who signs in.
private let someone = HashRequester(.signIn, address: nil)

@Suite struct PasswordHasherTests {
    private let hasher = PasswordHasher(cost: 4)

    @Test func aPasswordVerifiesAgainstItsOwnHashOnly() async throws {
        let hash = try await hasher.hash("correct horse – Ünïcödé 🔥", for: someone)
        #expect(hash.hasPrefix("$2b$04$") && hash.utf8.count == 60)
        #expect(try await hasher.verify("correct horse – Ünïcödé 🔥", against: hash, for: someone))
        #expect(try await !hasher.verify("correct horse", against: hash, for: someone))
        #expect(try await hasher.hash("correct horse – Ünïcödé 🔥", for: someone) != hash, "salts differ")
    }

    @Test func theHashIsThatOfOtherImplementations() async throws {
        // From the test vectors of OpenBSD's and jBCrypt's bcrypt.
        let known = "$2a$08$HqWuK6/Ng6sg9gQzbLrgb.Tl.ZHfXLhvt/SgVyWhQqgqcZ7ZuUtye"
        #expect(try await hasher.verify("", against: known, for: someone))
        #expect(try await !hasher.verify("a", against: known, for: someone))
        let other = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
        #expect(try await hasher.verify("a", against: other, for: someone))
    }

    @Test func whatBcryptWouldCutOffIsRefused() async throws {
        let longest = String(repeating: "x", count: 72)
        let hash = try await hasher.hash(longest, for: someone)
        #expect(try await hasher.verify(longest, against: hash, for: someone))
        #expect(try await !hasher.verify(longest + "y", against: hash, for: someone), "a longer password is not its prefix")
        for bad in [longest + "y", "nul\0inside", String(repeating: "é", count: 37)] {
            let error = await #expect(throws: ServiceError.self) {
                try await hasher.hash(bad, field: "new_password", for: someone)
            }
            #expect(error?.reason == "VALIDATION_ERROR")
            #expect(error?.details.first?.field == "new_password")
        }
        let prefix = try await hasher.hash("nul", for: someone)
        #expect(try await !hasher.verify("nul\0inside", against: prefix, for: someone))
    }

    /// In a process of its own, where the processor time of children is that of the hasher's alone, however busy the machine is.
    @Test func anUnknownUserCostsAsMuchAsAWrongPassword() async {
        await #expect(processExitsWith: .success) {
            let hash = try await PasswordHasher(cost: 9).hash("right", for: someone)
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
                for _ in 0..<8 where try await hasher?.verify(password, against: hash, for: someone) != false {
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

    @Test func aKilledProcessIsReplacedAndNobodyNotices() async throws {
        let hash = try await hasher.hash("p", for: someone)
        for _ in 0..<3 {
            let children = hasher.processIDs
            #expect(!children.isEmpty)
            for child in children { kill(child, SIGKILL) }
            #expect(try await hasher.verify("p", against: hash, for: someone))
        }
    }

    @Test func theProcessesAreSessionsOfLowPriorityWithoutTheParentsDescriptors() async throws {
        _ = try await hasher.hash("p", for: someone)
        let child = try #require(hasher.processIDs.first)
        #expect(getsid(child) == child)
        #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(child)) == 5)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/fd")
        #expect(open == ["0"])
    }

    @Test func whoeverWouldWaitTooLongIsRefusedThoughTheQueueHasRoom() async throws {
        let hasher = PasswordHasher(cost: 10, threads: 1, queueLimit: 100, longestWait: .milliseconds(100))
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<30 { group.addTask { (try? await hasher.hash("p", for: someone)) != nil } }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.contains(true) && outcomes.contains(false))
    }

    @Test func whoHasNoTimeLeftForTheHashItselfIsRefusedAtOnce() async throws {
        _ = try await hasher.hash("sets the pace", for: someone)
        let late = HashRequester(.signIn, address: nil, deadline: SystemClock.now())
        let error = await #expect(throws: ServiceError.self) { try await hasher.hash("p", for: late) }
        #expect(error?.code == .unavailable)
    }

    /// One hash at a time, and each takes long enough that all others are there before it ends.
    @Test func oneAddressThatSendsManyKeepsNobodyElseWaiting() async throws {
        let hasher = PasswordHasher(cost: 11, threads: 1, longestWait: .seconds(60))
        let flood = HashRequester(.newPassword, address: IPAddress("192.0.2.1"))
        let flooding = Task {
            await withTaskGroup(of: ServiceError.Code?.self) { group in
                for _ in 0..<20 {
                    group.addTask { await code { _ = try await hasher.hash("p", for: flood) } }
                }
                return await group.reduce(into: [ServiceError.Code?]()) { $0.append($1) }
            }
        }
        while hasher.waiting < 4 { await Task.yield() }
        for number in 1...3 {
            let other = HashRequester(.signIn, address: IPAddress("198.51.100.\(number)"))
            #expect(try await !hasher.verify("p", against: nil, for: other))
        }
        let outcomes = await flooding.value
        #expect(outcomes.contains(.resourceExhausted), "beyond 4 that wait an address is told to slow down")
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .resourceExhausted }, "\(outcomes)")
        #expect(hasher.waiting == 0)
    }

    @Test func whoIsCancelledWhileWaitingLeavesTheQueueBeforeAnythingIsHashed() async throws {
        let hasher = PasswordHasher(cost: 11, threads: 1, longestWait: .seconds(60))
        let first = Task { try await hasher.hash("p", for: someone) }
        let second = Task { try await hasher.hash("p", for: someone) }
        while hasher.waiting < 1 { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(hasher.waiting == 0)
        _ = try? await first.value
        #expect(try await hasher.hash("p", for: someone).utf8.count == 60, "the turn was handed on")
    }

    @Test func costsAreBoundedAndOldHashesRecognised() async throws {
        #expect(PasswordHasher(cost: 0).cost == 4)
        #expect(PasswordHasher(cost: 99).cost == 14)
        #expect(PasswordHasher().cost == 12)
        let hash = try await hasher.hash("p", for: someone)
        #expect(!hasher.needsRehash(hash))
        #expect(PasswordHasher(cost: 5).needsRehash(hash))
        #expect(hasher.needsRehash("$1$md5"))
    }

    @Test func overloadIsRefusedAtOnceAndTheRestSucceeds() async throws {
        let hasher = PasswordHasher(cost: 10, threads: 1, queueLimit: 2)
        let outcomes = await withTaskGroup(of: ServiceError.Code?.self) { group in
            for _ in 0..<12 { group.addTask { await code { _ = try await hasher.hash("p", for: someone) } } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == nil }.count >= 3)
        #expect(outcomes.contains(.unavailable))
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .unavailable })
        #expect(
            try await hasher.verify("p", against: hasher.hash("p", for: someone), for: someone),
            "the pool works on afterwards"
        )
    }
}

/// What an attempt was refused with; nil when it was not.
private func code(_ attempt: () async throws -> Void) async -> ServiceError.Code? {
    do {
        try await attempt()
        return nil
    } catch { return (error as? ServiceError)?.code ?? .unknown }
}

import Foundation
import Kernel
import Passwords
import Synchronization
import TestSupport
import Testing

/// A client that signs in.
private let requester = HashRequester(.signIn, address: nil)

@Suite struct PasswordHasherTests {
    private let hasher = PasswordHasher(cost: 4)

    @Test func `a password is the same however a keyboard composes it, and hashes from before that stay valid`() async throws {
        let hasher = PasswordHasher(cost: 4)
        let (composed, decomposed) = ("\u{FC}ber alles", "u\u{308}ber\u{A0}alles")
        let hash = try await hasher.hash(decomposed, for: requester)
        for typed in [composed, decomposed, "\u{FC}ber\u{3000}alles"] {
            #expect(try await hasher.verify(typed, against: hash, for: requester), "\(typed)")
        }
        for wrong in ["uber alles", "\u{FC}beralles", "\u{DC}ber alles"] {
            #expect(try await !hasher.verify(wrong, against: hash, for: requester), "\(wrong)")
        }
        // Of the decomposed form as it was typed, by crypt(3).
        let old = "$2b$04$abcdefghijklmnopqrstuujPG/OO/rUfIiRS3bZTXK6.zLh7lAdcO"
        #expect(try await hasher.verify(decomposed, against: old, for: requester))
        #expect(try await !hasher.verify(composed, against: old, for: requester))
    }

    @Test func `one client's many addresses of version 6 are one`() {
        let networks = (0..<6).map { HashRequester(.signIn, address: IPAddress("2001:db8:1:2::\($0)")).network }
        #expect(Set(networks).count == 1)
        #expect(HashRequester(.signIn, address: IPAddress("2001:db8:1:3::1")).network != networks[0])
    }

    @Test func `a password verifies against its own hash only`() async throws {
        let hash = try await hasher.hash("correct horse – Ünïcödé 🔥", for: requester)
        #expect(hash.hasPrefix("$2b$04$") && hash.utf8.count == 60)
        #expect(try await hasher.verify("correct horse – Ünïcödé 🔥", against: hash, for: requester))
        #expect(try await !hasher.verify("correct horse", against: hash, for: requester))
        #expect(try await hasher.hash("correct horse – Ünïcödé 🔥", for: requester) != hash, "salts differ")
    }

    @Test func `the hash is that of other implementations`() async throws {
        // From the test vectors of OpenBSD's and jBCrypt's bcrypt.
        let known = "$2a$08$HqWuK6/Ng6sg9gQzbLrgb.Tl.ZHfXLhvt/SgVyWhQqgqcZ7ZuUtye"
        #expect(try await hasher.verify("", against: known, for: requester))
        #expect(try await !hasher.verify("a", against: known, for: requester))
        let other = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
        #expect(try await hasher.verify("a", against: other, for: requester))
    }

    @Test func `what bcrypt would cut off is refused`() async throws {
        let longest = String(repeating: "x", count: 72)
        let hash = try await hasher.hash(longest, for: requester)
        #expect(try await hasher.verify(longest, against: hash, for: requester))
        #expect(try await !hasher.verify(longest + "y", against: hash, for: requester), "a longer password is not its prefix")
        for bad in [longest + "y", "nul\0inside", String(repeating: "é", count: 37)] {
            let error = await #expect(throws: ServiceError.self) {
                try await hasher.hash(bad, field: "new_password", for: requester)
            }
            #expect(error?.reason == "VALIDATION_ERROR")
            #expect(error?.details.first?.field == "new_password")
        }
        let prefix = try await hasher.hash("nul", for: requester)
        #expect(try await !hasher.verify("nul\0inside", against: prefix, for: requester))
    }

    @Test func `a killed process is replaced and no caller notices`() async throws {
        let hasher = PasswordHasher(cost: 7)
        let hash = try await hasher.hash("p", for: requester)
        for _ in 0..<3 {
            let children = hasher.processIDs
            #expect(!children.isEmpty)
            for child in children { kill(child, SIGKILL) }
            #expect(try await hasher.verify("p", against: hash, for: requester))
        }
    }

    @Test func `the processes are sessions of low priority without the parent's descriptors`() async throws {
        let hasher = PasswordHasher(cost: 7)
        _ = try await hasher.hash("p", for: requester)
        let child = try #require(hasher.processIDs.first)
        #expect(getsid(child) == child)
        #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(child)) == 5)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/fd")
        #expect(open == ["0"])
    }

    @Test func `hashes that are computed here and in a process are the same`() async throws {
        let (here, apart) = (PasswordHasher(cost: 6), PasswordHasher(cost: 7))
        let (cheap, dear) = (try await here.hash("p", for: requester), try await apart.hash("p", for: requester))
        #expect(here.processIDs.isEmpty && !apart.processIDs.isEmpty)
        #expect(cheap.hasPrefix("$2b$06$") && dear.hasPrefix("$2b$07$"))
        // The stored hash says what it costs.
        for hasher in [here, apart] {
            for hash in [cheap, dear] {
                #expect(try await hasher.verify("p", against: hash, for: requester))
                #expect(try await !hasher.verify("q", against: hash, for: requester))
            }
        }
    }

    @Test func `a caller that would wait too long is refused though the queue has room`() async throws {
        let hasher = PasswordHasher(cost: 10, threads: 1, queueLimit: 100, longestWait: .milliseconds(100))
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<30 { group.addTask { (try? await hasher.hash("p", for: requester)) != nil } }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.contains(true) && outcomes.contains(false))
    }

    @Test func `who has no time left for the hash itself is refused at once`() async throws {
        _ = try await hasher.hash("sets the pace", for: requester)
        let late = HashRequester(.signIn, address: nil, deadline: SystemClock.now())
        let error = await #expect(throws: ServiceError.self) { try await hasher.hash("p", for: late) }
        #expect(error?.code == .unavailable)
    }

    /// A hasher of one hash at a time, and its process, which is frozen: no hash ends before the test thaws it.
    private func frozen() async throws -> (hasher: PasswordHasher, process: Int32) {
        let hasher = PasswordHasher(cost: 7, threads: 1, longestWait: .seconds(60))
        _ = try await hasher.hash("starts the process", for: requester)
        let process = try #require(hasher.processIDs.first)
        #expect(kill(process, SIGSTOP) == 0)
        return (hasher, process)
    }

    @Test func `one address that sends many keeps no other waiting`() async throws {
        let (hasher, process) = try await frozen()
        defer { kill(process, SIGCONT) }
        let refused = Shared(0)
        let flood = HashRequester(.newPassword, address: IPAddress("192.0.2.1"))
        let flooding = Task {
            await withTaskGroup(of: ServiceError.Code?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let code = await code { _ = try await hasher.hash("p", for: flood) }
                        if code == .resourceExhausted { refused.value.add(1, ordering: .relaxed) }
                        return code
                    }
                }
                return await group.reduce(into: [ServiceError.Code?]()) { $0.append($1) }
            }
        }
        try await eventually("one is hashed, four wait") { refused.value.load(ordering: .relaxed) == 15 && hasher.waiting == 4 }
        let others = (1...3).map { number in
            let other = HashRequester(.signIn, address: IPAddress("198.51.100.\(number)"))
            return Task { try await hasher.verify("p", against: nil, for: other) }
        }
        try await eventually("others wait too") { hasher.waiting == 7 }
        kill(process, SIGCONT)
        for other in others { #expect(try await !other.value) }
        let outcomes = await flooding.value
        #expect(outcomes.count { $0 == .resourceExhausted } == 15, "beyond 4 that wait an address is refused with RATE_LIMITED")
        #expect(outcomes.count { $0 == nil } == 5, "\(outcomes)")
        #expect(hasher.waiting == 0)
    }

    @Test func `who is cancelled while waiting leaves the queue before anything is hashed`() async throws {
        let (hasher, process) = try await frozen()
        defer { kill(process, SIGCONT) }
        let first = Task { try await hasher.hash("p", for: requester) }
        try await eventually("it is its turn") { hasher.processIDs.isEmpty }
        let second = Task { try await hasher.hash("p", for: requester) }
        try await eventually("the second waits") { hasher.waiting == 1 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(hasher.waiting == 0)
        kill(process, SIGCONT)
        _ = try await first.value
        #expect(try await hasher.hash("p", for: requester).utf8.count == 60, "the turn was handed on")
    }

    @Test func `after a stall passwords are hashed again, however little time a request has`() async throws {
        let (hasher, process) = try await frozen()
        defer { kill(process, SIGCONT) }
        let stalled = Task { try await hasher.hash("p", for: requester) }
        let end = ContinuousClock.now + .seconds(4)
        try await eventually("a hash has taken far longer than a request may") { ContinuousClock.now > end }
        kill(process, SIGCONT)
        _ = try await stalled.value
        let hurried = HashRequester(.signIn, address: nil, deadline: SystemClock.now() + .milliseconds(900))
        #expect(try await hasher.hash("p", for: hurried).utf8.count == 60)
    }

    @Test func `costs are bounded`() {
        #expect(PasswordHasher(cost: 0).cost == 4)
        #expect(PasswordHasher(cost: 99).cost == 14)
        #expect(PasswordHasher().cost == 12)
    }

    @Test func `a hash of a lower cost is weak`() async throws {
        let (low, high) = (PasswordHasher(cost: 4), PasswordHasher(cost: 5))
        let hash = try await low.hash("p", for: requester)
        #expect(high.isWeak(hash) && !low.isWeak(hash))
        #expect(!low.isWeak(try await high.hash("p", for: requester)))
        #expect(!high.isWeak("no hash"))
    }

    @Test func `overload is refused at once and the rest succeeds`() async throws {
        let hasher = PasswordHasher(cost: 10, threads: 1, queueLimit: 2, longestWait: .seconds(60))
        let outcomes = await withTaskGroup(of: ServiceError.Code?.self) { group in
            for _ in 0..<12 { group.addTask { await code { _ = try await hasher.hash("p", for: requester) } } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == nil }.count >= 3)
        #expect(outcomes.contains(.unavailable))
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .unavailable })
        #expect(
            try await hasher.verify("p", against: hasher.hash("p", for: requester), for: requester),
            "the pool works on afterwards"
        )
    }
}

/// A number that tasks share.
private final class Shared: Sendable {
    let value: Atomic<Int>
    init(_ value: Int) { self.value = Atomic(value) }
}

/// What an attempt was refused with; nil when it was not.
private func code(_ attempt: () async throws -> Void) async -> ServiceError.Code? {
    do {
        try await attempt()
        return nil
    } catch { return (error as? ServiceError)?.code ?? .unknown }
}

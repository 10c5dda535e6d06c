import AuthAPI
import Bus
import Foundation
import Kernel
import Testing

/// What sign-ins cost in time. Suites called …TimingTests run when nothing else does.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LoginTimingTests {
    @Test func `an unknown e-mail takes as long as a wrong password, over 200 tries`() async throws {
        let world = try await World(travelling: true, bcryptCost: 7)
        let clock = try #require(world.manualClock)
        let email = try #require(try await world.register().user?.email)
        let unknown = "\(World.unique("unknown"))@example.com"
        var times: [[Duration]] = [[], []]
        var answers: Set<ServiceError> = []
        for count in 0..<220 {
            // By turns, so that what else the machine does hits both alike.
            let which = count % 2
            let start = ContinuousClock.now
            let error = await #expect(throws: ServiceError.self) {
                _ = try await world.login(which == 0 ? email : unknown, "wrong password")
            }
            // The first ones warm up: the decoy's hash is made once.
            if count >= 20 { times[which].append(ContinuousClock.now - start) }
            if let error { answers.insert(error) }
            clock.advance(by: .minutes(2))
        }
        #expect(answers.count == 1 && answers.first?.reason == "INVALID_CREDENTIALS")
        // Mann-Whitney: without a difference z is normal; 5 happens once in two million.
        let wins = times[0].reduce(0) { sum, one in sum + times[1].filter { $0 < one }.count }
        let z = (Double(wins) - 5_000) / (100.0 * 100.0 * 201.0 / 12.0).squareRoot()
        #expect(abs(z) < 5, "z = \(z)")
        let medians = times.map { $0.sorted()[50] }
        #expect(medians[0] < medians[1] * 1.5 && medians[1] < medians[0] * 1.5, "\(medians)")
    }

    @Test func `a new password is asked for an unknown address in the same time, over 200 tries`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let email = try #require(try await world.register().user?.email)
        let unknown = "\(World.unique("unknown"))@example.com"
        var times: [[Duration]] = [[], []]
        var answers: Set<Int32> = []
        for count in 0..<220 {
            // No mailbox at its limit.
            clock.advance(by: .minutes(20))
            let which = count % 2
            let start = ContinuousClock.now
            let reply = try await world.email.requestPasswordReset(
                RequestPasswordResetRequest(email: which == 0 ? email : unknown),
                context: World.context()
            )
            if count >= 20 { times[which].append(ContinuousClock.now - start) }
            answers.insert(reply.expiresIn)
        }
        #expect(answers.count == 1)
        let wins = times[0].reduce(0) { sum, one in sum + times[1].filter { $0 < one }.count }
        let z = (Double(wins) - 5_000) / (100.0 * 100.0 * 201.0 / 12.0).squareRoot()
        #expect(abs(z) < 5, "z = \(z)")
    }

    @Test func `more logins than can be hashed are refused at once, and none runs out of time`() async throws {
        let world = try await World(travelling: true, bcryptCost: 10)
        let email = try #require(try await world.register().user?.email)
        let start = ContinuousClock.now
        let answers = await withTaskGroup(of: String.self) { group in
            for _ in 0..<200 { group.addTask { await attempt(world, email, World.password) } }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(Set(answers) == ["in", "UNAVAILABLE"], "\(Set(answers))")
        // One waits for 3 s at most, in which this machine does some 50 when it is not busy.
        #expect(answers.filter { $0 == "in" }.count >= 5, "\(answers.filter { $0 == "in" }.count)")
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(await attempt(world, email, World.password) == "in")
    }
}

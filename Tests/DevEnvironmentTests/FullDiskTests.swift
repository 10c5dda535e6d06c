import Foundation
import Glibc
import Testing

@testable import DevEnvironment

@Suite("A broker whose JetStream no longer answers") struct FullDiskTests {
    @Test func `is restarted once it has been silent for a while, and not again soon`() {
        var silence = JetStreamSilence(limit: .seconds(6), pause: .seconds(30))
        let start = ContinuousClock.now
        func look(_ observation: JetStreamSilence.Observation, at second: Int) -> Bool {
            silence.observed(observation, at: start.advanced(by: .seconds(second)))
        }
        #expect(!look(.silent, at: 0) && !look(.silent, at: 4))
        #expect(!look(.answers, at: 5) && !look(.silent, at: 8) && !look(.silent, at: 12), "it has answered meanwhile")
        #expect(look(.silent, at: 14))
        #expect(!look(.away, at: 15) && !look(.silent, at: 16) && !look(.silent, at: 30) && !look(.silent, at: 43))
        #expect(look(.silent, at: 44), "30 s after the last restart")
    }

    /// Fills a file system until nothing fits.
    private func fill(_ folder: String) throws {
        let file = try #require(fopen("\(folder)/ballast", "we"))
        defer { fclose(file) }
        let block = [UInt8](repeating: 1, count: 4_096)
        while fwrite(block, 1, block.count, file) == block.count, fflush(file) == 0 {}
        #expect(errno == ENOSPC)
    }

    @Test(.timeLimit(.minutes(15))) func `after a full disk events flow again by themselves, once there is space`() async throws {
        try await withDataFolder { folder in
            let store = "\(folder)/nats/store"
            try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
            try #require(
                mount("none", store, "tmpfs", 0, "size=8m") == 0,
                "This test mounts a small file system: it needs root and the capability CAP_SYS_ADMIN. \(String(cString: strerror(errno)))"
            )
            defer { umount2(store, Int32(MNT_DETACH)) }
            let environment = DevEnvironment(configuration(folder), logger: silent)
            do { try await fillAndFree(environment, store) } catch {
                await environment.stop()
                throw error
            }
            await environment.stop()
        }
    }

    private func fillAndFree(_ environment: DevEnvironment, _ store: String) async throws {
        let endpoints = try await environment.start()
        func connect(_ user: String) throws -> RawNATS {
            try RawNATS(url: endpoints.natsURL, user: user, password: endpoints.natsPassword(of: user))
        }
        let made = try connect("operator").request(
            "$JS.API.STREAM.CREATE.EVT_MEDIA",
            #"{"name":"EVT_MEDIA","subjects":["evt.media.>"],"storage":"file"}"#
        )
        #expect(!made.contains(#""error""#), "\(made)")
        #expect(try connect("media").request("evt.media.v1.X", "before").contains(#""seq":1"#))
        let before = try #require(await environment.processIDs.nats)

        try fill(store)
        // Until the broker hangs (2.9) or refuses (later versions).
        try await until("an event is not taken") {
            let event = String(repeating: "x", count: 100_000)
            guard let answer = try? connect("media").request("evt.media.v1.X", event) else { return true }
            return !answer.contains(#""seq":"#)
        }
        try FileManager.default.removeItem(atPath: "\(store)/ballast")
        try await until("an event is taken again") {
            (try? connect("media").request("evt.media.v1.X", "after"))?.contains(#""seq":"#) == true
        }
        let after = try #require(await environment.processIDs.nats)
        #expect(!isAlive(before) || after == before, "there is one broker")
        let first = try connect("operator").request("$JS.API.STREAM.MSG.GET.EVT_MEDIA", #"{"seq":1}"#)
        #expect(first.contains("YmVmb3Jl"), "what was stored is still there: \(first)")
    }
}

import Foundation
import TestSupport
import Testing

/// The gateway is killed while it moves the development clock (PF-7).
struct ClockKillTests {
    private func gateway(of home: Installation) -> pid_t? {
        ProcessTree.children(of: home.guardian.programID).first { ProcessTree.name(of: $0) == "gateway" }
    }

    /// How far the clock of each process is ahead; fewer than seven while one does not answer.
    private func offsets(_ firstPort: UInt16) async -> [Int] {
        var offsets: [Int] = []
        for port in firstPort...firstPort + 6 {
            guard let page = try? await HTTPClient(port: port).send("GET", "/metrics").text,
                let line = page.firstMatch(of: /streaksnap_clock_offset_seconds\{[^}]*\} ([0-9]+)/), let offset = Int(line.1)
            else { continue }
            offsets.append(offset)
        }
        return offsets
    }

    /// Seven ports in a row that are free.
    private func adminPorts() throws -> UInt16 {
        for _ in 0..<50 {
            let ports = try Installation.freePorts(7)
            if ports[6] == ports[0] + 6 { return ports[0] }
        }
        throw Guardian.Failure(description: "no seven free ports in a row")
    }

    @Test(.timeLimit(.minutes(5))) func `wherever it was, all services show the same date a moment later`() async throws {
        let admin = try adminPorts()
        let home = try await Installation(["--separate", "--dev-clock", "--admin-port", "\(admin)"])
        var reached = 0
        for round in 0..<TestDepth.pick(quick: 8, full: 40) {
            let old = try #require(gateway(of: home))
            let step = 3_600
            let call = Task { try await home.call("POST", "/api/dev/clock", json: "{\"advance_seconds\":\(step)}") }
            // From before the offset is stored until some rounds of settling were asked for.
            try await Task.sleep(for: .milliseconds(round * 60 % 480))
            kill(old, SIGKILL)
            _ = try? await call.value
            try await eventually("the gateway is back") {
                guard let next = gateway(of: home), next != old else { return false }
                return (try? await home.call("GET", "/api/dev/clock"))?.status == 200
            }
            var all: [Int] = []
            try await eventually("all agree, last \(all)", within: .seconds(60)) {
                all = await offsets(admin)
                return all.count == 7 && Set(all).count == 1
            }
            let now = try #require(all.first)
            #expect(now == reached || now == reached + step, "the step was made as a whole or not at all: \(reached), \(all)")
            reached = now
        }
        try await eventually("it goes on") {
            (try? await home.call("POST", "/api/dev/clock", json: "{\"advance_seconds\":60}"))?.status == 200
        }
        #expect(Set(await offsets(admin)).count == 1)
        await home.guardian.end()
    }
}

import Runtime
import Testing

@testable import GatewayService

/// The protocol of sd_listen_fds(3).
struct InheritedSocketTests {
    @Test(arguments: [
        [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "7"], ["LISTEN_FDS": "1", "LISTEN_PID": "8"],
        ["LISTEN_FDS": "0", "LISTEN_PID": "7"], ["LISTEN_FDS": "1", "LISTEN_PID": ""],
    ])
    func `what is not offered to this process is not taken`(environment: [String: String]) throws {
        #expect(try !InheritedSocket.isOffered(environment, to: 7))
    }

    @Test func `one socket is taken, and more are refused`() throws {
        #expect(try InheritedSocket.isOffered(["LISTEN_FDS": "1", "LISTEN_PID": "7"], to: 7))
        for count in ["2", "x", "-1"] {
            #expect(throws: Settings.Invalid.self) {
                try InheritedSocket.isOffered(["LISTEN_FDS": count, "LISTEN_PID": "7"], to: 7)
            }
        }
    }
}

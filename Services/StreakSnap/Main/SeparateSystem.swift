import DevEnvironment
import FoundationEssentials
import Glibc
import Logging

/// The seven executables as processes of their own, started again when they end by themselves (D10).
struct SeparateSystem: RunningSystem {
    private let processes: ServiceProcesses
    private let address: PublicAddress

    static func start(_ plan: Plan, logger: Logger) async throws -> SeparateSystem {
        let binaries = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        let processes = ServiceProcesses(logFolder: plan.logFolder, pidFolder: plan.dataFolder, logger: logger)
        var executables = (Plan.services + ["gateway"]).map { name in
            ServiceProcesses.Executable(name: name, path: "\(binaries)/\(name)", environment: plan.environment(of: name))
        }
        // Clients that connect while the gateway is started again wait for it.
        try executables[executables.count - 1].listen(host: plan.address.host, port: UInt16(clamping: plan.address.port))
        try await processes.start(executables)
        return SeparateSystem(processes: processes, address: plan.address)
    }

    func isReady() async -> Bool { Probe.get("/readyz", at: address) }

    func stop() async { await processes.stop() }
}

/// A minimal question to our own gateway.
enum Probe {
    /// Whether `GET path` answers 200.
    static func get(_ path: String, at place: PublicAddress) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A gateway that starts lets us wait.
        var limit = timeval(tv_sec: 0, tv_usec: 200_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(place.port).bigEndian
        address.sin_addr.s_addr = inet_addr(place.local)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return false }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: \(place.local)\r\nConnection: close\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return false }
        var reply = [UInt8](repeating: 0, count: 12)
        var received = 0
        while received < reply.count {
            let count = reply.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress?.advanced(by: received), $0.count - received, 0)
            }
            guard count > 0 else { return false }
            received += count
        }
        return String(decoding: reply, as: UTF8.self).hasPrefix("HTTP/1.1 200")
    }
}

import Foundation
import Processes
import Testing

/// One more process of a service that runs, which is started with the same settings.
extension Installation {
    /// The process of a service, where each has one of its own; nil while it is being started again.
    func process(of service: String) -> pid_t? {
        ProcessTree.children(of: guardian.programID).first { ProcessTree.name(of: $0) == service.prefix(15) }
    }

    /// Starts a further replica. It ends with the test, or by a signal; what it logs is in `logs/<name>.log`.
    ///
    /// - Parameters:
    ///   - name: of its log; the service's with `-2` by default.
    ///   - settings: what differs, by the names of their variables. It has no admin port.
    func replica(of service: String, name: String? = nil, settings: [String: String] = [:]) async throws -> ChildProcess {
        let running = try #require(process(of: service), "\(service) does not run")
        var environment = ProcessTree.environment(of: running)
        environment["STREAKSNAP_ADMIN_PORT"] = "0"
        return try await ChildProcess.spawn(
            Command(
                executable: Self.binaries.appending(path: service).path,
                arguments: [],
                environment: environment.merging(settings) { $1 },
                deathSignal: "TERM",
                output: log(name ?? "\(service)-2").path
            )
        )
    }

    /// Where a replica writes its log.
    func log(_ name: String) -> URL { data.appending(path: "logs/\(name).log") }
}

private import Foundation

/// Where programs are.
enum Binaries {
    /// The path of a program on PATH or in the usual system folders.
    static func find(_ name: String, package: String) throws(DevEnvironmentError) -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"]
        guard let folder = folders.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }) else {
            throw DevEnvironmentError("\(name) is not installed.", wayOut: "apt-get install \(package)")
        }
        return "\(folder)/\(name)"
    }

    /// A program at a given path.
    static func check(_ path: String, wayOut: String) throws(DevEnvironmentError) {
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw DevEnvironmentError("There is no program \(path).", wayOut: wayOut)
        }
    }
}

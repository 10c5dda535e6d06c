private import Foundation
private import Glibc

/// Where PostgreSQL, or what stands in front of it, is reached on this machine.
public enum PostgresAddress: Sendable, Equatable {
    /// A Unix-domain socket, `.s.PGSQL.<port>` in a folder: a round trip costs a third less than by TCP over loopback.
    case socket(folder: String, port: Int)
    /// TCP on 127.0.0.1.
    case port(Int)

    /// The address of a socket in a folder.
    ///
    /// - Returns: nil when the folder's path does not serve: an address has room for 107 bytes (unix(7)), and libpq takes a comma for the
    ///   end of one of several hosts.
    public init?(socketIn folder: String, port: Int) {
        guard Self.path(of: 65_535, in: folder).utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path),
            !folder.contains(",")
        else { return nil }
        self = .socket(folder: folder, port: port)
    }

    /// The path of the socket; nil for TCP.
    public var socketPath: String? {
        guard case .socket(let folder, let port) = self else { return nil }
        return Self.path(of: port, in: folder)
    }

    /// The path of a socket.
    public static func path(of port: Int, in folder: String) -> String { "\(folder)/.s.PGSQL.\(port)" }

    /// The connection string of a role for a database.
    func url(of role: String, password: String, database: String) -> String {
        let start = "postgresql://\(role):\(password)@"
        switch self {
        case .port(let port): return start + "127.0.0.1:\(port)/\(database)"
        case .socket(let folder, let port):
            // What is escaped is UTF-8, so it never fails.
            let host = folder.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? folder
            return start + "/\(database)?host=\(host)&port=\(port)"
        }
    }

    /// RFC 3986, 2.3, and the slash.
    private static let unreserved = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\0"..."~"))
        .union(CharacterSet(charactersIn: "-._~/"))
}

/// The folder of PostgreSQL's account, which others may not enter, as the place of its socket.
struct PostgresSocketFolder: Sendable {
    let path: String

    /// The setting `unix_socket_directories`; empty, for none, when the folder's path does not serve.
    var setting: String {
        PostgresAddress(socketIn: path, port: 0) == nil ? "" : #""\#(path.replacing("\"", with: "\"\""))""#
    }

    /// Where services reach the server that listens on a port too.
    func address(port: UInt16) -> PostgresAddress { PostgresAddress(socketIn: path, port: Int(port)) ?? .port(Int(port)) }

    /// Removes the sockets of servers that were killed. PostgreSQL does not remove one whose process id another process has by now.
    func removeLeftovers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where name.hasPrefix(".s.PGSQL.") {
            unlink("\(path)/\(name)")
        }
    }
}

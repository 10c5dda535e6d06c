internal import Kernel
internal import NIOCore
internal import Runtime

/// Where a request comes from: the other end of the connection, or what a trusted proxy says was at the other end of its own (AU-12).
struct ClientAddresses: Sendable {
    private let trusted: [IPRange]

    /// - Parameter trusted: addresses and ranges separated by commas.
    /// - Throws: `Settings.Invalid` for anything else.
    init(trusted: String) throws {
        self.trusted = try trusted.settingEntries.map { text in
            guard let range = IPRange(text) else {
                throw Settings.Invalid("--http-trusted-proxies must list addresses or ranges such as 10.0.0.0/8, not “\(text)”.")
            }
            return range
        }
    }

    /// The client's address. Entries of X-Forwarded-For count from the right, as far as each was written by a trusted proxy: what is
    /// left of that, any client can have made up.
    ///
    /// - Parameters:
    ///   - peer: the other end of the connection.
    ///   - forwardedFor: the values of X-Forwarded-For, in order.
    func client(peer: IPAddress?, forwardedFor: [String]) -> IPAddress? {
        guard var client = peer, isTrusted(client) else { return peer }
        var entries = forwardedFor.joined(separator: ",").split(separator: ",").map { String($0.filter { $0 != " " }) }
        while isTrusted(client), let entry = entries.popLast(), let next = IPAddress(entry) { client = next }
        return client
    }

    /// Whose share of something a connection has before a request says where it comes from; nil for a trusted proxy's, which is many
    /// clients'.
    func holder(of peer: IPAddress?) -> IPAddress? { peer.flatMap { isTrusted($0) ? nil : $0.site } }

    private func isTrusted(_ address: IPAddress) -> Bool { trusted.contains { $0.contains(address) } }
}

extension SocketAddress {
    /// Its IP address; nil for a socket of another kind.
    var ip: IPAddress? { ipAddress.flatMap { IPAddress($0) } }
}

import Glibc

/// Where the public API is reached: on this machine alone, or also by phones in the same network (`up --host`).
struct PublicAddress: Sendable {
    static let loopback = "127.0.0.1"
    private static let everyAddress = "0.0.0.0"

    /// What the API listens on.
    let host: String
    let port: Int
    /// Addresses of this machine that others can reach it at; none when it listens on loopback only.
    private let reachable: [String]

    init(host: String, port: Int) {
        self.host = host
        self.port = port
        reachable = host == Self.everyAddress ? Self.addressesOfThisMachine() : host.hasPrefix("127.") ? [] : [host]
    }

    var isLoopback: Bool { host.hasPrefix("127.") }

    /// The address for links and for people.
    var url: String { "http://\(reachable.first ?? (isLoopback ? host : Self.loopback)):\(port)" }

    /// Where this process reaches it.
    var local: String { host == Self.everyAddress ? Self.loopback : host }

    /// What an operator who opens it to a network should know.
    var remark: String {
        let places =
            reachable.isEmpty
            ? "This machine has no address in a network: no phone can reach it."
            : "Phones in the same network reach it at " + reachable.map { "http://\($0):\(port)" }.joined(separator: " and ")
                + "."
        return places
            + "\nThere is no TLS: passwords, tokens and photos can be read in that network. For development only.\n"
    }

    static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }

    /// Those of interfaces that are up, loopback left out, in the system's order.
    private static func addressesOfThisMachine() -> [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [String] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            let flags = Int32(bitPattern: entry.ifa_flags)
            guard let address = entry.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET),
                flags & Int32(IFF_UP) != 0, flags & Int32(IFF_LOOPBACK) == 0
            else { continue }
            var bytes = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr }
            let text = String(unsafeUninitializedCapacity: Int(INET_ADDRSTRLEN)) { buffer in
                buffer.withMemoryRebound(to: CChar.self) { characters in
                    guard let start = characters.baseAddress,
                        inet_ntop(AF_INET, &bytes, start, socklen_t(characters.count)) != nil
                    else { return 0 }
                    return strlen(start)
                }
            }
            if !text.isEmpty { found.append(text) }
        }
        return found
    }
}

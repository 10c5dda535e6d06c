internal import CCrypt
internal import Kernel

/// bcrypt's texts: settings with a new salt, costs, the comparison. `HashProcesses` has them computed.
enum Bcrypt {
    /// A new hash with a salt from the system's random source.
    static func hash(_ password: String, cost: Int, by processes: HashProcesses) throws -> String {
        var setting = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        // No random bytes given: libxcrypt takes them from the system.
        guard crypt_gensalt_rn("$2b$", UInt(cost), nil, 0, &setting, Int32(setting.count)) != nil else {
            throw ServiceError.internal
        }
        return try processes.compute(password, setting: setting, cost: cost)
    }

    /// Whether the password gives this hash, compared in time that does not depend on where they differ.
    static func verify(_ password: String, against hash: String, by processes: HashProcesses) throws -> Bool {
        guard let cost = cost(of: hash) else { return false }
        let computed = Array(try processes.compute(password, setting: Array(hash.utf8CString), cost: cost).utf8)
        let expected = Array(hash.utf8)
        guard computed.count == expected.count else { return false }
        return zip(computed, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The cost of a `$2a$`, `$2b$` or `$2y$` hash of 60 characters; nil for anything else.
    static func cost(of hash: String) -> Int? {
        let bytes = Array(hash.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(String(hash.prefix(4))), bytes[6] == UInt8(ascii: "$"),
            let cost = Int(hash.dropFirst(4).prefix(2)), PasswordHasher.costs.contains(cost)
        else { return nil }
        return cost
    }
}

internal import CCrypt
internal import Kernel

/// The two calls of libxcrypt that are needed; both compute for as long as the cost says.
enum Bcrypt {
    /// A new hash with a salt from the system's random source.
    static func hash(_ password: String, cost: Int) throws -> String {
        var setting = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        // No random bytes given: libxcrypt takes them from the system.
        guard crypt_gensalt_rn("$2b$", UInt(cost), nil, 0, &setting, Int32(setting.count)) != nil else {
            throw ServiceError.internal
        }
        return try crypt(password, setting: setting)
    }

    /// Whether the password gives this hash, compared in time that does not depend on where they differ.
    static func verify(_ password: String, against hash: String) throws -> Bool {
        let computed = Array(try crypt(password, setting: Array(hash.utf8CString)).utf8)
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

    private static func crypt(_ password: String, setting: [CChar]) throws -> String {
        let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        data.initialize(to: crypt_data())
        defer {
            data.deinitialize(count: 1)
            data.deallocate()
        }
        // crypt_rn, unlike crypt_r, returns NULL on failure; the scratch space, which holds secrets, is wiped by the library.
        guard let result = crypt_rn(password, setting, data, Int32(MemoryLayout<crypt_data>.size)) else {
            throw ServiceError.internal
        }
        return String(cString: result)
    }
}

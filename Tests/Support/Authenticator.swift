import Cryptography
import Kernel

/// An authenticator app, written from RFC 6238 and sharing nothing with the service: HMAC-SHA-1, 6 digits, steps of 30 s.
public struct Authenticator: Sendable {
    private let key: [UInt8]

    /// - Parameter secret: in Base32, as the API shows it; anything else in it is passed over.
    public init(secret: String) {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = secret.compactMap { letters.firstIndex(of: $0) }.flatMap { value in (0..<5).map { value >> (4 - $0) & 1 } }
        key = (0..<(bits.count / 8)).map { byte in UInt8(bits[(byte * 8)..<(byte * 8 + 8)].reduce(0) { $0 * 2 + $1 }) }
    }

    /// The step of 30 s that the machine's clock is in.
    public static var step: Int64 { SystemClock.now().seconds / 30 }

    /// What the app shows, or will show, so many steps from now. A service takes the codes of the step before, the present one and the next; none
    /// that was used, and none before it. Two sign-ins in a row are possible with those of 0 and 1.
    public func code(_ ahead: Int64 = 0) -> String { code(step: Self.step + ahead) }

    /// The code of a step.
    public func code(step: Int64) -> String {
        let message = (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> ($0 * 8)) }
        let mac = HMACSHA1.code(for: message, key: key)
        let place = Int(mac[19] % 16)
        let number = (0..<4).reduce(0) { $0 * 256 + Int(mac[place + $1]) } % (1 << 31) % 1_000_000
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Six digits that are no code of now or within ten minutes.
    public var wrongCode: String {
        let near = Set((-20...20).map { code($0) })
        return (0..<1_000).map { String(100_000 + $0) }.first { !near.contains($0) } ?? ""
    }
}

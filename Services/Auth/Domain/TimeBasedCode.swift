public import Kernel

/// The codes of an authenticator app (TOTP, RFC 6238): HMAC-SHA-1 of the number of a step of 30 s, cut to six digits (HOTP, RFC 4226).
///
/// Steps are counted by the machine's clock: the user's phone knows nothing of a development clock.
public enum TimeBasedCode {
    /// The length of a step.
    public static let step = Interval.seconds(30)
    /// Digits of a code.
    public static let digits = 6
    /// Bytes of a secret: the length that RFC 4226 recommends, that of SHA-1.
    public static let secretBytes = 20
    /// Steps before and after the present one whose codes are taken: clocks differ, and people type slowly.
    public static let tolerance: Int64 = 1

    /// The number of the step at an instant, from 0 at 1970.
    public static func step(at now: Instant) -> Int64 {
        let length = step.microseconds / 1_000_000
        let seconds = now.seconds
        return (seconds - ((seconds % length) + length) % length) / length
    }

    /// What is authenticated for a step: its number in eight bytes, the high one first.
    public static func message(ofStep step: Int64) -> [UInt8] {
        let number = UInt64(bitPattern: step)
        return (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }

    /// The digits of an HMAC-SHA-1 (RFC 4226, 5.3); empty for anything shorter than its 20 bytes.
    public static func code(of authentication: [UInt8]) -> String {
        guard authentication.count >= 20, let last = authentication.last else { return "" }
        let start = Int(last & 0x0F)
        let number = authentication[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: Self.digits - digits.count) + digits
    }

    /// The step whose code was typed; nil when it is none that is taken now.
    ///
    /// A step that was used is not taken again, and none before it. When a code is that of several steps, the newest counts: it is used up for
    /// all of them.
    ///
    /// - Parameters:
    ///   - last: the newest step that was used; nil when none was.
    ///   - authenticate: HMAC-SHA-1 of a message with the secret.
    public static func acceptedStep(
        of typed: String,
        at now: Instant,
        after last: Int64?,
        _ authenticate: (_ message: [UInt8]) -> [UInt8]
    ) -> Int64? {
        let present = step(at: now)
        var accepted: Int64?
        for step in (present - tolerance)...(present + tolerance) {
            let isRight = isEqual(code(of: authenticate(message(ofStep: step))), typed)
            if isRight, last.map({ step > $0 }) ?? true { accepted = step }
        }
        return accepted
    }

    /// What an authenticator app takes up, also from a QR code (the key URI format of such apps).
    ///
    /// - Parameters:
    ///   - secret: in Base32.
    ///   - account: what the app shows it by: the e-mail address, or a name.
    public static func uri(secret: String, account: String) -> String {
        "otpauth://totp/StreakSnap:\(PercentEncoding.encode(account))?secret=\(secret)&issuer=StreakSnap"
            + "&algorithm=SHA1&digits=\(digits)&period=30"
    }

    /// In a time that does not depend on how many digits are right.
    private static func isEqual(_ code: String, _ typed: String) -> Bool {
        let (code, typed) = (Array(code.utf8), Array(typed.utf8))
        guard code.count == typed.count, !code.isEmpty else { return false }
        return zip(code, typed).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

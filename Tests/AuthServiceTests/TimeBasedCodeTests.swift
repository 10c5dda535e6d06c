import AuthDomain
import Kernel
import TestSupport
import Testing

@testable import AuthAccounts

/// Codes of an authenticator app, by the numbers of the RFCs and by chance.
struct TimeBasedCodeTests {
    private let secret = Array("12345678901234567890".utf8)

    private func authenticate(_ message: [UInt8]) -> [UInt8] { SecondFactorSecrets.authenticate(message, secret: secret) }

    private func code(step: Int64) -> String { TimeBasedCode.code(of: authenticate(TimeBasedCode.message(ofStep: step))) }

    /// RFC 6238, Appendix B, has eight digits; the last six of them are the code of six.
    @Test(
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)]
    ) func `the codes of RFC 6238`(seconds: Int64, digits: String) {
        #expect(code(step: TimeBasedCode.step(at: Instant(seconds: seconds))) == digits.suffix(6))
    }

    @Test func `the codes of RFC 4226, Appendix D, which the tests' own app has too`() {
        let expected = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
        ]
        #expect((0..<10).map { code(step: $0) } == expected)
        let app = Authenticator(secret: Base32.encode(secret))
        #expect((0..<10).map { app.code(step: $0) } == expected)
    }

    @Test func `Base32 as in RFC 4648`() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"]
        #expect(
            texts.map { Base32.encode(Array($0.utf8)) } == ["", "MY", "MZXQ", "MZXW6", "MZXW6YQ", "MZXW6YTB", "MZXW6YTBOI"]
        )
    }

    @Test func `a step is thirty seconds, before 1970 too`() {
        let steps = [(-31, -2), (-30, -1), (-1, -1), (0, 0), (29, 0), (30, 1)] as [(Int64, Int64)]
        for (seconds, step) in steps { #expect(TimeBasedCode.step(at: Instant(seconds: seconds)) == step, "\(seconds)") }
    }

    @Test(arguments: 0..<50) func `each step is accepted once, in order, and near the present only`(seed: UInt64) {
        var dice = Seeded(seed)
        var now = Instant(seconds: 1_800_000_000)
        var last: Int64?
        for _ in 0..<200 {
            now = now + .seconds(Int64.random(in: 0...20, using: &dice))
            let present = TimeBasedCode.step(at: now)
            let wanted = present + Int64.random(in: -4...4, using: &dice)
            let accepted = TimeBasedCode.acceptedStep(of: code(step: wanted), at: now, after: last, authenticate)
            let isDue = abs(wanted - present) <= 1 && wanted > last ?? .min
            if let accepted {
                // Another step than the wanted one is a coincidence of codes.
                #expect(abs(accepted - present) <= 1 && accepted > last ?? .min)
                #expect(accepted == wanted || code(step: accepted) == code(step: wanted))
                last = accepted
            } else {
                #expect(!isDue, "\(wanted) at \(present) after \(last ?? -1)")
            }
        }
        #expect(last != nil)
    }

    @Test(arguments: ["", "12345", "1234567", "12345a", "１２３４５６", "-12345", "755224 "])
    func `what is no code of six digits is none`(typed: String) {
        #expect(TimeBasedCode.acceptedStep(of: typed, at: .epoch, after: nil, authenticate) == nil)
    }

    @Test func `a code that is that of several steps is used up for all of them`() {
        // Of a constant authentication every step has the same code.
        let constant = { (_: [UInt8]) in [UInt8](repeating: 7, count: 20) }
        let typed = TimeBasedCode.code(of: constant([]))
        let now = Instant(seconds: 3_000)
        #expect(TimeBasedCode.acceptedStep(of: typed, at: now, after: nil, constant) == 101)
        #expect(TimeBasedCode.acceptedStep(of: typed, at: now, after: 101, constant) == nil)
    }

    @Test func `the link for an app names account and issuer`() {
        #expect(
            TimeBasedCode.uri(secret: "GEZDGNBV", account: "ada+x@example.com")
                == "otpauth://totp/StreakSnap:ada%2Bx%40example.com?secret=GEZDGNBV&issuer=StreakSnap&algorithm=SHA1&digits=6&period=30"
        )
    }

    @Test func `a recovery code is read as people write it`() {
        let text = RecoveryCode.text(Array("abcdefghij".utf8))
        #expect(text == "MFRG-GZDF-MZTW-Q2LK")
        for typed in [text, text.lowercased(), "mfrg gzdf mztw q2lk", "MFRGGZDFMZTWQ2LK"] {
            #expect(RecoveryCode.normalized(typed) == "MFRGGZDFMZTWQ2LK")
        }
        for typed in ["", "123456", "MFRG-GZDF-MZTW-Q2L", "MFRG-GZDF-MZTW-Q2LKA", "MFRG-GZDF-MZTW-Q2L1"] {
            #expect(RecoveryCode.normalized(typed) == nil, "\(typed)")
        }
    }

    @Test func `what a token allows follows from the rule, the role and the second factor`() {
        for rule in SecondFactorRule.allCases {
            for isEnrolled in [false, true] { #expect(rule.rights(isAdmin: false, isEnrolled: isEnrolled) == .user) }
            #expect(rule.rights(isAdmin: true, isEnrolled: true) == .admin)
        }
        #expect(SecondFactorRule.required.rights(isAdmin: true, isEnrolled: false) == .enrolment)
        #expect(SecondFactorRule.enrolled.rights(isAdmin: true, isEnrolled: false) == .admin)
    }

    @Test func `a stored secret opens with the same key and for its account only`() throws {
        let secrets = SecondFactorSecrets(secret: String(repeating: "k", count: 32))
        let (ada, eve) = (UserID(high: 1, low: 1), UserID(high: 1, low: 2))
        let sealed = try secrets.seal(secret, of: ada)
        #expect(secrets.open(sealed, of: ada) == secret)
        #expect(secrets.open(sealed, of: eve) == nil)
        #expect(SecondFactorSecrets(secret: String(repeating: "l", count: 32)).open(sealed, of: ada) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(secrets.open(changed, of: ada) == nil, "byte \(index)")
        }
        #expect(secrets.open([], of: ada) == nil)
        #expect(try secrets.seal(secret, of: ada) != sealed, "twice the same secret looks different")
        let codes = secrets.makeRecoveryCodes()
        #expect(Set(codes).count == 10 && codes.allSatisfy { RecoveryCode.normalized($0) != nil })
    }
}

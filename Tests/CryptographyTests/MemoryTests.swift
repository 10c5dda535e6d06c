import CMalloc
import Cryptography
import Testing

struct MemoryTests {
    @Test func `Failures by the thousand leave no memory behind`() throws {
        let key = try P256.PrivateKey().publicKey
        let secret = SymmetricKey(derivedFrom: [1], info: [])
        let rsa = try RSA.PrivateKey().publicKey
        let zeros = [UInt8](repeating: 0, count: 64)
        let failures: [(count: Int, name: String, failed: () -> Bool)] = [
            (4_000, "a signature that is none", { !key.isValid(zeros, for: [1]) }),
            (2_000, "a signature of others", { !key.isValid([UInt8](repeating: 1, count: 64), for: [1]) }),
            (4_000, "an RSA signature that is too short", { !rsa.isValid([1], for: [1]) }),
            (2_000, "an RSA signature of others", { !rsa.isValid([UInt8](repeating: 1, count: 256), for: [1]) }),
            (4_000, "a message that was not sealed", { (try? ChaChaPoly.open(zeros, using: secret)) == nil }),
            (4_000, "a point that is none", { (try? P256.PublicKey(x: key.y, y: key.x)) == nil }),
            (2_000, "a text that is no key", { (try? P256.PrivateKey(pem: "no key")) == nil }),
        ]
        for failure in failures {
            // What libcrypto allocates for one is larger than 32 bytes. Other tests use memory meanwhile, but not more in each of many rounds.
            var growth: [Int] = []
            repeat {
                let before = Int(mallinfo2().uordblks)
                for _ in 0..<failure.count where !failure.failed() { Issue.record("\(failure.name) was accepted") }
                growth.append(Int(mallinfo2().uordblks) - before)
            } while growth.last.map { $0 >= failure.count * 32 } ?? true && growth.count < 100
            #expect(growth.min() ?? 0 < failure.count * 32, "\(failure.name): \(growth)")
        }
    }
}

import Cryptography
import Glibc

// Ends while threads hash, seal, sign and verify, as a service does whose grace period is over. When a result is wrong, it ends with 1.

/// Registered before the library is first used, so that it runs after what the library would do: a process may have more to do then.
nonisolated func takeTime() { usleep(20_000) }
atexit { takeTime() }

let key = try P256.PrivateKey()
let secret = SymmetricKey(derivedFrom: "secret".utf8, info: "".utf8)
let hmac = HMACSHA256(key: "secret".utf8)
let (hash, code) = (SHA256.hash(data: "message".utf8), hmac.code(for: "message".utf8))

for _ in 0..<4 {
    Task.detached {
        while true {
            let sealed = try ChaChaPoly.seal([1, 2, 3], using: secret)
            let signature = try key.signature(for: "message".utf8)
            guard SHA256.hash(data: "message".utf8) == hash, hmac.isValid(code, for: "message".utf8),
                try ChaChaPoly.open(sealed, using: secret) == [1, 2, 3], key.publicKey.isValid(signature, for: "message".utf8)
            else { _exit(1) }
        }
    }
}
usleep(10_000)
exit(7)

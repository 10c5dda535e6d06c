private import Cryptography
private import Glibc
private import Kernel

/// Secrets of a data folder: made at the first start, kept in files only their owner can read.
struct Secrets: Sendable {
    let folder: String

    init(folder: String) throws(DevEnvironmentError) {
        try Files.makeFolder(folder, mode: 0o700)
        chmod(folder, 0o700)
        self.folder = folder
    }

    /// A password or key: 64 hexadecimal digits.
    ///
    /// The first is a letter, for nats-server takes what begins with a digit for a number when it comes from the environment.
    func text(_ name: String) throws(DevEnvironmentError) -> String {
        try value(name) {
            let digits = Unguessable.bytes(32).flatMap { [$0 >> 4, $0 & 15] }.map { "0123456789abcdef".utf8.map(\.self)[Int($0)] }
            return "c" + String(decoding: digits.dropFirst(), as: UTF8.self)
        }
    }

    /// Writes what is made of other secrets, unless it is there already.
    func replace(_ name: String, with text: String) throws(DevEnvironmentError) {
        let path = "\(folder)/\(name)"
        let known = Files.exists(path) ? try Files.read(path) : nil
        if known.map({ $0 + "\n" }) != text { try Files.write(text, to: path, mode: 0o600) }
    }

    /// The private half of a service's deployment key (D23): Ed25519 in PEM.
    ///
    /// - Returns: the public half in base64url.
    func serviceKey(_ name: String) throws -> String {
        let fresh = try Ed25519.PrivateKey().pem()
        let text = try value(name) { fresh }
        guard let key = try? Ed25519.PrivateKey(pem: text) else {
            throw DevEnvironmentError(
                "The secret \(folder)/\(name) is no Ed25519 key.",
                wayOut: "Remove the file to have it made anew."
            )
        }
        return Base64URL.encode(key.publicKey.bytes)
    }

    private func value(_ name: String, make: () -> String) throws(DevEnvironmentError) -> String {
        let path = "\(folder)/\(name)"
        if !Files.exists(path) { try Files.write(make() + "\n", to: path, mode: 0o600) }
        let text = try Files.read(path)
        guard !text.isEmpty else {
            throw DevEnvironmentError("The secret \(path) is empty.", wayOut: "Remove the file to have it made anew.")
        }
        return text
    }
}

/// Text in the addresses and forms of the web (RFC 3986, 2.1): all bytes but those of unreserved characters as `%41`.
public enum PercentEncoding {
    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let hex = Array("0123456789ABCDEF")

    /// The text in that form.
    public static func encode(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            if plain.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%\(hex[Int(byte >> 4)])\(hex[Int(byte & 15)])"
            }
        }
    }
}

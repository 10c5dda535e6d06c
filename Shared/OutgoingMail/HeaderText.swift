private import FoundationEssentials

/// Text in the headers of a message (RFC 5322, RFC 2047).
enum HeaderText {
    /// Most characters of a line that holds an encoded word.
    static let lineLength = 76
    /// Bytes of text in one encoded word: with the header's name it stays below `lineLength`.
    private static let bytesOfWord = 36

    /// Whether a text can stand in a header: no line breaks and no other control characters.
    static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            $0.value >= 32 && !(127...159).contains($0.value) && $0.value != 0x2028 && $0.value != 0x2029
        }
    }

    /// A text that means itself, as `Subject`.
    static func unstructured(_ text: String) -> String { fits(text) ? text : encoded(text) }

    /// The name of a mailbox.
    static func phrase(_ text: String) -> String {
        guard fits(text) else { return encoded(text) }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Whether a text can stay as it is, on one line.
    private static func fits(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (32...126).contains($0) } && text.first != " " && text.last != " "
            && !text.contains("=?")
    }

    /// Encoded words on lines of their own; none splits a character.
    private static func encoded(_ text: String) -> String {
        var words: [String] = []
        var bytes: [UInt8] = []
        func endWord() {
            guard !bytes.isEmpty else { return }
            words.append("=?UTF-8?B?\(Data(bytes).base64EncodedString())?=")
            bytes = []
        }
        for scalar in text.unicodeScalars {
            let next = Array(String(scalar).utf8)
            if bytes.count + next.count > bytesOfWord { endWord() }
            bytes += next
        }
        endWord()
        return words.joined(separator: "\r\n ")
    }
}

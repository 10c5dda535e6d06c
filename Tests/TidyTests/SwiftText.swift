/// Swift source split into what is code, what is comment and what is text.
///
/// No parser: it knows comments, string literals and interpolations, which is what it takes to look for words in code without being
/// fooled by the same words in comments or texts.
struct SwiftText: Sendable {
    /// A string literal without its interpolations.
    struct Literal: Sendable {
        let line: Int
        let text: String
    }

    /// The source with comments and texts blanked out: as many bytes and lines as before.
    private(set) var code: [UInt8]
    /// Every string literal.
    private(set) var literals: [Literal] = []
    /// Where each line begins.
    private let lineStarts: [Int]

    private let source: [UInt8]
    private var position = 0

    init(_ source: [UInt8]) {
        self.source = source
        self.code = source
        self.lineStarts = [0] + source.indices.filter { source[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
        readCode(isInterpolation: false)
    }

    init(_ source: String) { self.init(Array(source.utf8)) }

    /// The line of an offset, from 1.
    func line(at offset: Int) -> Int {
        var (low, high) = (0, lineStarts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        return low + 1
    }

    /// The code of each line.
    var codeLines: [String] {
        code.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The comments and texts of each line: what `code` leaves out.
    var proseLines: [String] {
        var prose = source
        for index in source.indices where code[index] == source[index] && source[index] != UInt8(ascii: "\n") {
            prose[index] = UInt8(ascii: " ")
        }
        return prose.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// A line as it is written, from 0.
    func rawLine(_ index: Int) -> String {
        let end = index + 1 < lineStarts.count ? lineStarts[index + 1] - 1 : source.count
        return String(decoding: source[lineStarts[index]..<end], as: UTF8.self)
    }

    /// Where `word` stands in code, not as a part of a longer name.
    func offsets(of word: String) -> [Int] {
        let word = Array(word.utf8)
        guard let first = word.first, let last = word.last, code.count >= word.count else { return [] }
        return code.withUnsafeBufferPointer { code in
            (0...(code.count - word.count)).filter { start in
                guard code[start] == first, word.indices.allSatisfy({ code[start + $0] == word[$0] }) else { return false }
                let before = start > 0 ? code[start - 1] : 0
                let after = start + word.count < code.count ? code[start + word.count] : 0
                return !(first.isName && before.isName) && !(last.isName && after.isName)
            }
        }
    }

    private func byte(_ ahead: Int = 0) -> UInt8 { position + ahead < source.count ? source[position + ahead] : 0 }

    private mutating func blank() {
        if source[position] != UInt8(ascii: "\n") { code[position] = UInt8(ascii: " ") }
        position += 1
    }

    /// Reads code: to the end, or to the parenthesis that closes an interpolation.
    private mutating func readCode(isInterpolation: Bool) {
        var depth = 0
        while position < source.count {
            switch (byte(), byte(1)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "/")):
                while position < source.count, byte() != UInt8(ascii: "\n") { blank() }
            case (UInt8(ascii: "/"), UInt8(ascii: "*")): readBlockComment()
            case (UInt8(ascii: "\""), _): readString(hashes: 0)
            case (UInt8(ascii: "#"), UInt8(ascii: "\"")), (UInt8(ascii: "#"), UInt8(ascii: "#")):
                var hashes = 0
                while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
                position += hashes
                if byte() == UInt8(ascii: "\"") { readString(hashes: hashes) }
            case (UInt8(ascii: "("), _):
                depth += 1
                position += 1
            case (UInt8(ascii: ")"), _):
                position += 1
                depth -= 1
                if isInterpolation && depth < 0 { return }
            default: position += 1
            }
        }
    }

    private mutating func readBlockComment() {
        var depth = 0
        repeat {
            switch (byte(), byte(1)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                depth += 1
                blank()
            case (UInt8(ascii: "*"), UInt8(ascii: "/")):
                depth -= 1
                blank()
            default: break
            }
            blank()
        } while depth > 0 && position < source.count
    }

    private mutating func readString(hashes: Int) {
        let start = position
        let quotes = byte(1) == UInt8(ascii: "\"") && byte(2) == UInt8(ascii: "\"") ? 3 : 1
        position += quotes
        var text: [UInt8] = []
        while position < source.count, !ends(quotes, hashes) {
            if byte() == UInt8(ascii: "\\"), (0..<hashes).allSatisfy({ byte(1 + $0) == UInt8(ascii: "#") }) {
                for _ in 0...hashes { blank() }
                if byte() == UInt8(ascii: "(") {
                    position += 1
                    readCode(isInterpolation: true)
                    text.append(UInt8(ascii: " "))
                } else if position < source.count {
                    blank()
                }
            } else {
                text.append(byte())
                blank()
            }
        }
        position = min(position + quotes + hashes, source.count)
        literals.append(Literal(line: line(at: start), text: String(decoding: text, as: UTF8.self)))
    }

    private func ends(_ quotes: Int, _ hashes: Int) -> Bool {
        (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") }
            && (0..<hashes).allSatisfy { byte(quotes + $0) == UInt8(ascii: "#") }
    }
}

extension UInt8 {
    /// Whether it can be part of a name.
    var isName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), 128...:
            true
        default: false
        }
    }

    /// Whether it is white space.
    var isSpace: Bool { self == 32 || (9...13).contains(self) }
}

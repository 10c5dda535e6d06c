/// Finds what was probably meant by a name that does not exist, so that an error says what to do.
public enum NearName {
    /// Longer names are not compared: the time that a wrong request takes is bounded.
    private static let longest = 40

    /// What an error says of a name that does not exist: `problem`, and the name that was probably meant.
    ///
    /// - Parameter names: what there is, in the order in which equally near ones are preferred.
    static func problem(_ problem: String, _ name: String, among names: [String]) -> String {
        of(name, among: names).map { "\(problem): did you mean \($0)?" } ?? problem
    }

    /// The same, and all names where none is near and there are few.
    package static func problemOrAll(_ problem: String, _ name: String, among names: [String]) -> String {
        let said = Self.problem(problem, name, among: names)
        return said == problem && (1...fewNames).contains(names.count)
            ? "\(problem): this takes \(names.joined(separator: ", "))" : said
    }

    private static let fewNames = 6

    /// The name that was probably meant; nil when none is near, or several are.
    ///
    /// One that is spelled in another way (`displayName` for `display_name`), one with a slip of the keyboard or two, or the only one that
    /// has these words and more, or fewer (`password` for `new_password`, `item_id` for `item`), or the only one of this kind (`user_id` for
    /// `subject_id`).
    public static func of(_ name: String, among names: [String]) -> String? {
        // A dotted name may be wrong in any of its parts.
        guard name.utf8.count <= longest, !name.contains(".") else { return nil }
        let words = Self.words(name), letters = Array(words.joined())
        if let same = names.first(where: { Self.words($0).joined().elementsEqual(letters) }) { return same }
        let slips = mostSlips(letters.count)
        var best: (name: String, distance: Int)?
        for other in names where other.utf8.count <= longest {
            let others = Array(Self.words(other).joined())
            // Most are too long or too short, and cost nothing.
            guard abs(others.count - letters.count) <= slips else { continue }
            let distance = Self.distance(letters, others)
            if distance <= slips, distance < best?.distance ?? Int.max { best = (other, distance) }
        }
        if let best { return best.name }
        let related = names.filter { isPart(words, of: Self.words($0)) || isPart(Self.words($0), of: words) }
        if related.count == 1 { return related[0] }
        // `id`, `type`, `url`: what it is comes last.
        let kind = names.filter { other in
            let others = Self.words(other)
            return words.count > 1 && others.count > 1 && others.last == words.last
        }
        return kind.count == 1 && related.isEmpty ? kind[0] : nil
    }

    /// How many slips of the keyboard are between a segment of a path and what it should be; nil for more than its length allows. Case,
    /// hyphens and underscores count for nothing.
    static func slips(_ sent: [UInt8], _ meant: [UInt8]) -> Int? {
        guard sent.count <= longest, meant.count <= longest else { return nil }
        let letters = [sent, meant].map { Array(words(String(decoding: $0, as: UTF8.self)).joined()) }
        let most = mostSlips(letters[1].count)
        guard abs(letters[0].count - letters[1].count) <= most else { return nil }
        let slips = distance(letters[0], letters[1])
        return slips <= most ? slips : nil
    }

    private static func mostSlips(_ letters: Int) -> Int { letters < 4 ? 0 : letters < 7 ? 1 : 2 }

    /// The words of a name in small letters: `userIds`, `user_ids`, `user-ids` and `user_ids[]` have the same.
    private static func words(_ name: String) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        var wasCapital = true
        for byte in name.utf8 {
            switch byte {
            case 65...90:
                if !wasCapital { words.append([]) }
                words[words.count - 1].append(byte + 32)
            case 48...57, 97...122: words[words.count - 1].append(byte)
            default: words.append([])
            }
            wasCapital = (65...90).contains(byte)
        }
        return words.filter { !$0.isEmpty }
    }

    /// Whether all words of one name are in the other, which has more. A word of one or two letters alone (`id`) says too little.
    private static func isPart(_ part: [[UInt8]], of whole: [[UInt8]]) -> Bool {
        part.count < whole.count && part.contains { $0.count > 2 } && part.allSatisfy { whole.contains($0) }
    }

    /// The letters that have to be changed, added, left out, or exchanged with their neighbour to make one text of the other.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var rows = [Array(0...right.count)]
        for row in 1...left.count {
            var next = [row]
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                var least = min(rows[row - 1][column] + 1, next[column - 1] + 1, rows[row - 1][column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    least = min(least, rows[row - 2][column - 2] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}

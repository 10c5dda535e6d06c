import CommonAPI
import Kernel
import TestingAPI

/// A random source that gives the same numbers for the same seed (SplitMix64), so that a failure can be repeated.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Random messages with every kind of field, each set or not.
struct Samples {
    var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func everything() -> Everything {
        var message = Everything()
        if chance() { scalars(&message) }
        if chance() { optionals(&message) }
        if chance() { message.choice = choice() }
        if chance() { lists(&message) }
        if chance() { maps(&message) }
        return message
    }

    private mutating func scalars(_ message: inout Everything) {
        message.aDouble = double()
        message.aFloat = Float(Int32.random(in: -1_000...1_000, using: &random)) / 8
        message.anInt32 = number()
        message.anInt64 = number()
        message.aUint32 = number()
        message.aUint64 = number()
        message.aSint32 = number()
        message.aSint64 = number()
        message.aFixed32 = number()
        message.aFixed64 = number()
        message.aSfixed32 = number()
        message.aSfixed64 = number()
        message.aBool = chance()
        message.aString = text()
        message.aBytes = bytes()
        message.color = color()
        message.at = chance() ? instant() : nil
        message.inner = chance() ? inner() : nil
        message.friend = chance() ? UserSummary(userID: user(), avatarURL: chance() ? text() : nil) : nil
        message.farAway = text()
    }

    private mutating func user() -> UserID { UserID(high: random.next() >> 1, low: random.next()) }

    private mutating func optionals(_ message: inout Everything) {
        message.maybeInt32 = chance() ? number() : nil
        message.maybeUint64 = chance() ? number() : nil
        message.maybeDouble = chance() ? double() : nil
        message.maybeBool = chance() ? chance() : nil
        message.maybeString = chance() ? text() : nil
        message.maybeBytes = chance() ? bytes() : nil
        message.maybeColor = chance() ? color() : nil
    }

    private mutating func choice() -> Everything.Choice {
        switch Int.random(in: 0..<7, using: &random) {
        case 0: .number(number())
        case 1: .text(text())
        case 2: .raw(bytes())
        case 3: .nested(inner())
        case 4: .shade(color())
        case 5: .moment(instant())
        default: .flag(chance())
        }
    }

    private mutating func lists(_ message: inout Everything) {
        message.doubles = list { $0.double() }
        message.floats = list { Float($0.chance() ? 0.5 : -3) }
        message.int32s = list { $0.number() }
        message.int64s = list { $0.number() }
        message.uint32s = list { $0.number() }
        message.uint64s = list { $0.number() }
        message.sint32s = list { $0.number() }
        message.sint64s = list { $0.number() }
        message.fixed32s = list { $0.number() }
        message.fixed64s = list { $0.number() }
        message.sfixed32s = list { $0.number() }
        message.sfixed64s = list { $0.number() }
        message.bools = list { $0.chance() }
        message.strings = list { $0.text() }
        message.byteStrings = list { $0.bytes() }
        message.colors = list { $0.color() }
        message.moments = list { $0.instant() }
        message.inners = list { $0.inner() }
        message.unpacked = list { $0.number() }
    }

    private mutating func maps(_ message: inout Everything) {
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            message.labels[text()] = text()
            message.innerByNumber[number()] = inner()
            message.times[text()] = instant()
            message.colorByFlag[chance()] = color()
            message.blobs[number()] = bytes()
            message.weights[number()] = double()
        }
    }

    mutating func tree(depth: Int) -> Tree {
        var tree = Tree(name: text())
        guard depth > 0 else { return tree }
        if chance() { tree.left = self.tree(depth: depth - 1) }
        if chance() { tree.children = [self.tree(depth: depth - 1), Tree()] }
        if chance() { tree.byName[text()] = self.tree(depth: depth - 1) }
        if chance() { tree.other = chance() ? .right(self.tree(depth: depth - 1)) : .leaf(text()) }
        if chance() { tree.forest = Forest(first: self.tree(depth: depth - 1)) }
        return tree
    }

    mutating func chance() -> Bool { Bool.random(using: &random) }

    mutating func list<Value>(_ make: (inout Samples) -> Value) -> [Value] {
        var values: [Value] = []
        for _ in 0..<Int.random(in: 0...5, using: &random) { values.append(make(&self)) }
        return values
    }

    /// Small, extreme and any numbers alike.
    mutating func number<Number: FixedWidthInteger>() -> Number {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: Number.random(in: 0...100, using: &random)
        case 1: Number.min
        case 2: Number.max
        default: Number.random(in: .min ... .max, using: &random)
        }
    }

    mutating func double() -> Double { Double(Int64.random(in: -1_000_000...1_000_000, using: &random)) / 64 + 0.1 }

    mutating func text() -> String {
        let letters = ["a", "Z", "0", " ", "\n", "\"", "\\", "é", "ß", "漢", "😀", "\u{7f}", "\u{10FFFF}", "e\u{301}"]
        return (0..<Int.random(in: 0...20, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
    }

    mutating func bytes() -> [UInt8] { list { $0.number() } }

    mutating func color() -> Color { Color(rawValue: Int32.random(in: 0...6, using: &random)) }

    mutating func inner() -> Everything.Inner {
        Everything.Inner(name: text(), value: number(), kind: chance() ? .first : .negative)
    }

    mutating func instant() -> Instant {
        Instant(microseconds: Int64.random(in: -62_135_596_800_000_000...253_402_300_799_999_999, using: &random))
    }
}

internal import Kernel
internal import ServiceRuntime

/// A place in a list of completions: the newest date first, by their ids on one date.
struct DatedPosition: CursorPosition {
    let date: CalendarDate
    let id: CompletionID

    init(_ date: CalendarDate, _ id: CompletionID) { (self.date, self.id) = (date, id) }

    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 24, let date = CalendarDate(bytes: bytes.prefix(8)) else { return nil }
        let numbers = Numbers(bytes.dropFirst(8))
        self.init(date, CompletionID(high: numbers[0], low: numbers[1]))
    }

    var bytes: [UInt8] { date.bytes + Numbers([id.high, id.low]).bytes }
}

/// A place in the list of habits: by the place of the category, their own, and their id.
struct ListPosition: CursorPosition, Comparable {
    let category: Int64
    let order: Int64
    let id: HabitID

    init(category: Int, order: Int, _ id: HabitID) {
        (self.category, self.order, self.id) = (Int64(category), Int64(order), id)
    }

    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 32 else { return nil }
        let numbers = Numbers(bytes)
        (category, order) = (Int64(bitPattern: numbers[0]), Int64(bitPattern: numbers[1]))
        id = HabitID(high: numbers[2], low: numbers[3])
    }

    var bytes: [UInt8] {
        Numbers([UInt64(bitPattern: category), UInt64(bitPattern: order), id.high, id.low]).bytes
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.category, left.order, left.id) < (right.category, right.order, right.id)
    }
}

/// Numbers as bytes, eight each, the highest first.
private struct Numbers {
    private let numbers: [UInt64]

    init(_ numbers: [UInt64]) { self.numbers = numbers }

    init(_ bytes: ArraySlice<UInt8>) {
        numbers = stride(from: bytes.startIndex, to: bytes.endIndex, by: 8).map { start in
            bytes[start..<min(start + 8, bytes.endIndex)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
    }

    subscript(_ index: Int) -> UInt64 { numbers[index] }

    var bytes: [UInt8] { numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) } } }
}

internal import Kernel
internal import ServiceRuntime

/// A place in a list of completions: the newest date first, by their ids on one date.
struct DatedPosition: CursorPosition {
    let date: CalendarDate
    let id: CompletionID

    init(_ date: CalendarDate, _ id: CompletionID) { (self.date, self.id) = (date, id) }

    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 24, let date = CalendarDate(bytes: bytes.prefix(8)), let id = CompletionID(bytes: bytes.dropFirst(8)) else {
            return nil
        }
        self.init(date, id)
    }

    var bytes: [UInt8] { date.bytes + id.bytes }
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
        guard bytes.count == 32, let id = HabitID(bytes: bytes.dropFirst(16)) else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> Int64 { Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) }
        category = number(bytes.prefix(8))
        order = number(bytes.dropFirst(8).prefix(8))
        self.id = id
    }

    var bytes: [UInt8] {
        func big(_ number: Int64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }
        return big(category) + big(order) + id.bytes
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.category, left.order, left.id) < (right.category, right.order, right.id)
    }
}

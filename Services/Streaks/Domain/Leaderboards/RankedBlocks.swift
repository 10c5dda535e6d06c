/// Users in the order of a board, in sorted blocks: finds a rank, and changes a place, in O(log n) plus one block.
///
/// A block holds at most 512 entries of 16 bytes, so that an insertion moves 8 kB at most. A binary search over the blocks' last
/// entries finds the block, another inside finds the place, and a Fenwick tree over the blocks' sizes says how many are ahead. A
/// million entries are some 2,700 blocks.
struct RankedBlocks: Sendable {
    struct Entry: Equatable, Sendable {
        var score: BoardScore
        var person: UInt32
    }

    static let mostInBlock = 512
    /// What a block has when the board is built: room for insertions on both sides of a split.
    private static let builtInBlock = 384

    private var blocks: [[Entry]] = []
    /// The last entry of each block: what the search looks at, side by side.
    private var lasts: [Entry] = []
    /// A Fenwick tree of the sizes, from index 1.
    private var sizes: [Int] = [0]
    private(set) var count = 0

    /// Without entries.
    init() {}

    /// - Parameters:
    ///   - sorted: entries in the order of the board.
    init(sorted: [Entry]) {
        var start = 0
        while start < sorted.count {
            let end = min(start + Self.builtInBlock, sorted.count)
            var block: [Entry] = []
            block.reserveCapacity(Self.mostInBlock)
            block.append(contentsOf: sorted[start..<end])
            blocks.append(block)
            lasts.append(sorted[end - 1])
            start = end
        }
        count = sorted.count
        countAnew()
    }

    /// Whether the first stands before the second: the better score; of equal ones the smaller id, which registered earlier.
    static func isAhead(_ first: Entry, _ second: Entry, _ people: BoardPeople) -> Bool {
        if first.score != second.score { return first.score > second.score }
        return first.person != second.person && people[first.person] < people[second.person]
    }

    /// How many stand before this entry, which need not be there.
    func ahead(of entry: Entry, _ people: BoardPeople) -> Int {
        let block = self.block(of: entry, people)
        guard block < blocks.count else { return count }
        return before(block) + place(of: entry, in: blocks[block], people)
    }

    /// Adds an entry that is not there.
    mutating func insert(_ entry: Entry, _ people: BoardPeople) {
        count += 1
        guard !blocks.isEmpty else {
            blocks = [[entry]]
            lasts = [entry]
            countAnew()
            return
        }
        let index = min(block(of: entry, people), blocks.count - 1)
        blocks[index].insert(entry, at: place(of: entry, in: blocks[index], people))
        guard blocks[index].count <= Self.mostInBlock else { return split(index) }
        lasts[index] = blocks[index][blocks[index].count - 1]
        add(1, at: index)
    }

    /// Removes an entry that is there.
    mutating func remove(_ entry: Entry, _ people: BoardPeople) {
        let index = block(of: entry, people)
        guard index < blocks.count else { return }
        let place = place(of: entry, in: blocks[index], people)
        guard place < blocks[index].count, blocks[index][place] == entry else { return }
        blocks[index].remove(at: place)
        count -= 1
        guard let last = blocks[index].last else {
            blocks.remove(at: index)
            lasts.remove(at: index)
            return countAnew()
        }
        lasts[index] = last
        add(-1, at: index)
        mergeIfSmall(index)
    }

    /// The first so many, in their order.
    func first(_ wanted: Int) -> [Entry] {
        var found: [Entry] = []
        for block in blocks {
            found += block.prefix(wanted - found.count)
            if found.count >= wanted { break }
        }
        return found
    }

    /// The index of the first block whose last entry is not ahead of this one; the number of blocks when all are.
    private func block(of entry: Entry, _ people: BoardPeople) -> Int {
        var (low, high) = (0, lasts.count)
        while low < high {
            let middle = (low + high) / 2
            if Self.isAhead(lasts[middle], entry, people) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func place(of entry: Entry, in block: [Entry], _ people: BoardPeople) -> Int {
        var (low, high) = (0, block.count)
        while low < high {
            let middle = (low + high) / 2
            if Self.isAhead(block[middle], entry, people) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func split(_ index: Int) {
        let half = blocks[index].count / 2
        var second: [Entry] = []
        second.reserveCapacity(Self.mostInBlock + 1)
        second.append(contentsOf: blocks[index][half...])
        blocks[index].removeLast(blocks[index].count - half)
        lasts[index] = blocks[index][half - 1]
        lasts.insert(second[second.count - 1], at: index + 1)
        blocks.insert(second, at: index + 1)
        countAnew()
    }

    /// Joins a block that has become small with the next one, so that blocks stay as few as their entries need.
    private mutating func mergeIfSmall(_ index: Int) {
        let next = index + 1
        guard next < blocks.count, blocks[index].count + blocks[next].count <= Self.mostInBlock / 2 else { return }
        blocks[index] += blocks[next]
        lasts[index] = lasts[next]
        blocks.remove(at: next)
        lasts.remove(at: next)
        countAnew()
    }

    // The Fenwick tree.

    /// How many entries the blocks before this one have.
    private func before(_ block: Int) -> Int {
        var (sum, place) = (0, block)
        while place > 0 {
            sum += sizes[place]
            place -= place & -place
        }
        return sum
    }

    private mutating func add(_ change: Int, at block: Int) {
        var place = block + 1
        while place < sizes.count {
            sizes[place] += change
            place += place & -place
        }
    }

    /// After blocks were added or removed, which is once in some 128 changes of one block.
    private mutating func countAnew() {
        sizes = [0] + blocks.map(\.count)
        for place in 1..<max(1, sizes.count) {
            let parent = place + (place & -place)
            if parent < sizes.count { sizes[parent] += sizes[place] }
        }
    }
}

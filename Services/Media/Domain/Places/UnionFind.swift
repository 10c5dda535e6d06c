/// Sets of numbers from 0 on that are joined step by step.
struct UnionFind {
    private var parents: [Int]
    private var sizes: [Int]

    /// So many numbers, each a set of its own.
    init(count: Int) {
        parents = Array(0..<count)
        sizes = Array(repeating: 1, count: count)
    }

    /// The number that stands for the set of another.
    mutating func root(of number: Int) -> Int {
        var number = number
        while parents[number] != number {
            parents[number] = parents[parents[number]]
            number = parents[number]
        }
        return number
    }

    /// Makes the sets of two numbers one.
    mutating func join(_ left: Int, _ right: Int) {
        var (large, small) = (root(of: left), root(of: right))
        guard large != small else { return }
        if sizes[large] < sizes[small] { swap(&large, &small) }
        parents[small] = large
        sizes[large] += sizes[small]
    }

    /// Places in a list by the set of what stands there, in order; the sets in the order of their first places.
    ///
    /// - Parameter numbers: what stands at each place.
    mutating func groups(_ numbers: some Sequence<Int>) -> [[Int]] {
        var groups: [[Int]] = []
        var known = Array(repeating: -1, count: parents.count)
        for (place, number) in numbers.enumerated() {
            let root = root(of: number)
            if known[root] < 0 {
                known[root] = groups.count
                groups.append([])
            }
            groups[known[root]].append(place)
        }
        return groups
    }
}

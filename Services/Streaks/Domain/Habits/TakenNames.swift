/// Names of habits or categories that are taken: one that is there gets " (2)", " (3)" … behind it (HA-13).
///
/// Numbers that were found taken are not tried again: a file may have a thousand equal names, and those of the account beside them.
public struct TakenNames: Sendable {
    /// As `HabitText.key` makes them.
    private var keys: Set<String>
    /// The least number that may be free: by how many digits it has, and the key of what stands before it.
    private var numbers: [String: Int] = [:]

    /// - Parameter keys: keys of names (`HabitText.key`).
    public init(keys: Set<String> = []) { self.keys = keys }

    /// Takes the name, or the first one with a number that is free.
    ///
    /// - Parameter most: characters of what is taken.
    public mutating func take(_ name: String, most: Int) -> String {
        let free = free(name, most: most)
        keys.insert(HabitText.key(free))
        return free
    }

    private mutating func free(_ name: String, most: Int) -> String {
        guard keys.contains(HabitText.key(name)) else { return name }
        var (first, end, digits) = (2, 10, 1)
        while true {
            let stem = HabitText.trimmed(String(name.prefix(most - digits - 3)))
            let place = "\(digits) \(HabitText.key(stem))"
            var number = numbers[place] ?? first
            while number < end {
                let candidate = "\(stem) (\(number))"
                if !keys.contains(HabitText.key(candidate)) {
                    numbers[place] = number
                    return candidate
                }
                number += 1
            }
            numbers[place] = end
            (first, end, digits) = (end, end * 10, digits + 1)
        }
    }
}

internal import Kernel

/// Values for fields that come as text: path variables, query parameters and form fields.
struct TextField {
    /// Positions in the schema's fields, from the request's own field to the one that is set.
    var path: [Int]
    /// What the client called it, for problems.
    var name: String
    var value: [UInt8]
}

extension RequestEncoder {
    /// Writes text fields. Those that share a submessage are written into one, and repeated scalars into one packed field.
    ///
    /// - Parameter splitsLists: repeated fields also take `a,b,c` (forms).
    mutating func write(_ fields: [TextField], splitsLists: Bool) {
        write(fields, level: 0, splitsLists: splitsLists)
    }

    private mutating func write(_ fields: [TextField], level: Int, splitsLists: Bool) {
        // Most requests have one such field: the id in the path.
        if fields.count == 1, fields[0].path.count == level + 1 {
            return writeLeaf(fields, values.tables.fields[fields[0].path[level]], splitsLists: splitsLists)
        }
        var order: [Int] = []
        var groups: [Int: [TextField]] = [:]
        for field in fields {
            let key = field.path[level]
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(field)
        }
        checkOneofs(order, groups)
        for key in order {
            guard let group = groups[key] else { continue }
            let table = values.tables.fields[key]
            if group[0].path.count > level + 1 {
                values.tag(table)
                let start = values.out.beginLength()
                write(group, level: level + 1, splitsLists: splitsLists)
                values.out.endLength(start)
            } else {
                writeLeaf(group, table, splitsLists: splitsLists)
            }
        }
    }

    private mutating func writeLeaf(_ group: [TextField], _ table: FieldTable, splitsLists: Bool) {
        if table.shape == .repeated { return writeRepeated(group, table, splitsLists: splitsLists) }
        if group.count > 1 { report(group[0].name, "is given twice") }
        writeOne(group[0].value[...], name: group[0].name, table, table.shape == .optional ? .present : .plain)
    }

    private mutating func checkOneofs(_ order: [Int], _ groups: [Int: [TextField]]) {
        var members: [Int32: String] = [:]
        for key in order {
            let table = values.tables.fields[key]
            guard table.oneof >= 0, let name = groups[key]?.first?.name else { continue }
            if let other = members.updateValue(name, forKey: table.oneof) {
                report(name, "cannot be given together with \(other)")
            }
        }
    }

    private mutating func writeRepeated(_ group: [TextField], _ table: FieldTable, splitsLists: Bool) {
        var start = 0
        if table.packed {
            values.tag(table)
            start = values.out.beginLength()
        }
        var index = 0
        let mark = values.out.count
        for field in group {
            let parts =
                splitsLists
                ? field.value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true) : [field.value[...]]
            for part in parts {
                let trimmed = splitsLists ? Self.trimmed(part) : part
                writeOne(trimmed, name: "\(field.name)[\(index)]", table, table.packed ? .packed : .present)
                index += 1
            }
        }
        guard table.packed else { return }
        if values.out.count == mark {
            values.out.count = start - 1 - Int(table.tagLength)
        } else {
            values.out.endLength(start)
        }
    }

    private mutating func writeOne(_ value: ArraySlice<UInt8>, name: String, _ table: FieldTable, _ mode: ValueWriter.Mode) {
        let problem: String? = value.withUnsafeBufferPointer { text in
            if let base = text.baseAddress, !ByteText.isUTF8(base, text.count) { return StringProblem.invalidUTF8.message }
            if text.contains(0) { return StringProblem.nul.message }
            if text.isEmpty, table.refusesEmpty { return Self.emptyText }
            return values.text(table, text, mode) ? nil : values.tables.expectation(table)
        }
        guard let problem else { return }
        report(name, problem)
        values.standIn(table, mode)
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text
        while text.first == UInt8(ascii: " ") { text = text.dropFirst() }
        while text.last == UInt8(ascii: " ") { text = text.dropLast() }
        return text
    }
}

/// Splits and decodes `application/x-www-form-urlencoded` text.
enum QueryText {
    /// Most parameters of one request.
    static let maximumCount = 500

    /// The pairs of a query string, decoded, or what is wrong with it.
    static func pairs(_ query: String) throws(ServiceError) -> [(name: String, value: [UInt8])] {
        var result: [(String, [UInt8])] = []
        var query = query
        let parts: [[UInt8]?] = query.withUTF8 { buffer in
            buffer.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true).prefix(maximumCount + 1).flatMap { part in
                let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
                let value = equals == part.endIndex ? part[equals...] : part[(equals + 1)...]
                return [part[..<equals], value].map {
                    ByteText.percentDecoded(UnsafeBufferPointer(rebasing: $0), plusIsSpace: true)
                }
            }
        }
        guard parts.count <= maximumCount * 2 else {
            throw .validation(field: "", "The query has more than \(maximumCount) parameters.")
        }
        for index in stride(from: 0, to: parts.count, by: 2) {
            guard let name = parts[index], let value = parts[index + 1] else {
                throw .validation(field: "", "The query is not percent-encoded correctly.")
            }
            result.append((String(decoding: name, as: UTF8.self), value))
        }
        return result
    }
}

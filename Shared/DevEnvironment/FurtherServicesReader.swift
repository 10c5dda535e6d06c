internal import Kernel

/// Reads the file of further services.
enum FurtherServicesReader {
    static func read(_ bytes: [UInt8]) throws(JSONProblem) -> FurtherServices {
        var reader = JSONReader(bytes)
        var services: [FurtherService] = []
        var lines: [Int] = []
        var isThere = false
        try reader.beginObject()
        while let name = try reader.nextName() {
            guard name == "services" else { throw reader.problem("is unknown; the file has “services” only") }
            isThere = true
            try reader.beginArray()
            while try reader.nextElement() {
                lines.append(reader.problem("").line)
                services.append(try service(&reader))
            }
        }
        try reader.finish()
        guard isThere else { throw JSONProblem(path: "", message: "has no member “services”", line: 1, column: 1) }
        do { return try FurtherServices(checking: services) } catch {
            let path = "services[\(error.index)].\(error.member)"
            throw JSONProblem(path: path, message: error.message, line: lines[error.index], column: 1)
        }
    }

    private static func service(_ reader: inout JSONReader) throws(JSONProblem) -> FurtherService {
        var service = FurtherService(name: "")
        var isNamed = false
        try reader.beginObject()
        while let name = try reader.nextName() {
            switch name {
            case "name":
                service.name = try reader.string()
                isNamed = true
            case "calls":
                try reader.beginObject()
                while let callee = try reader.nextName() { service.calls[callee] = try texts(&reader) }
            case "sources":
                try reader.beginObject()
                while let feature = try reader.nextName() { service.sources[feature] = try texts(&reader) }
            case "database": service.hasDatabase = try reader.bool()
            default: throw reader.problem("is unknown; there are name, calls, sources and database")
            }
        }
        guard isNamed else { throw reader.problem("has no member “name”") }
        return service
    }

    private static func texts(_ reader: inout JSONReader) throws(JSONProblem) -> [String] {
        var texts: [String] = []
        try reader.beginArray()
        while try reader.nextElement() { texts.append(try reader.string()) }
        return texts
    }
}

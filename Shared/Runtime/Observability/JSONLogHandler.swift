private import FoundationEssentials
private import Glibc
private import Kernel
public import Logging

/// Writes one JSON object per line to standard error: time, level, service, message, and the metadata as fields.
public struct JSONLogHandler: LogHandler {
    public var logLevel: Logger.Level
    public var metadata: Logger.Metadata = [:]
    private let service: String

    /// A handler whose lines carry the service's name.
    public init(service: String, level: Logger.Level) {
        self.service = service
        self.logLevel = level
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
        var line =
            "{\"time\":\"\(now)\",\"level\":\"\(event.level)\",\"service\":\(Self.quoted(service)),\"message\":\(Self.quoted("\(event.message)"))"
        var fields = metadata
        if let extra = event.metadata { fields.merge(extra) { _, new in new } }
        if let error = event.error { fields["error"] = "\(error)" }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            line += ",\(Self.quoted(key)):\(Self.quoted("\(value)"))"
        }
        line += "}\n"
        // One write(2) per line: lines of several processes and threads do not mix.
        Array(line.utf8).withUnsafeBytes { bytes in
            _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }

    /// A JSON string.
    package static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case let control where control.value < 0x20:
                result += "\\u00" + (control.value < 16 ? "0" : "") + String(control.value, radix: 16)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

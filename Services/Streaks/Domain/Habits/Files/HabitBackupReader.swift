import Kernel

/// Reads and checks the document of a backup before anything changes (HA-6): of version 2.0 (`HabitBackupWriter`), and of the app's first
/// version 1.0. All that is wrong is noted with its path, up to a limit.
public enum HabitBackupReader {
    /// - Parameter bytes: the document.
    public static func read(_ bytes: [UInt8], _ context: HabitFileContext) -> HabitImport {
        var fields = DocumentFields(bytes, context)
        var found = HabitImport()
        do throws(JSONProblem) {
            let head = try head(of: bytes)
            switch head.version {
            case "2.0" where head.kind == HabitBackupWriter.Kind.export.rawValue:
                fields.problems.error("kind", "is an export, which has only a part: restore needs a backup")
            case "2.0":
                var document = BackupDocument2(fields)
                found = try document.read()
                fields = document.fields
            case "1.0":
                var document = BackupDocument1(fields)
                found = try document.read()
                fields = document.fields
            case let version?:
                fields.problems.error("version", "“\(version.prefix(20))” is unknown: this service reads 1.0 and 2.0")
            case nil: fields.problems.error("version", "is needed: “1.0” or “2.0”")
            }
        } catch {
            fields.problems.error(error.path, "\(error.message) (line \(error.line), column \(error.column))")
        }
        found.problems = fields.problems
        found.checkDates()
        return found
    }

    /// The members that say what follows; they may stand anywhere.
    private static func head(of bytes: [UInt8]) throws(JSONProblem) -> (version: String?, kind: String?) {
        var json = JSONReader(bytes)
        var (version, kind): (String?, String?)
        try json.beginObject()
        while let name = try json.nextName() {
            if name == "version", try json.kind() == .string { version = try json.string() }
            if name == "kind", try json.kind() == .string { kind = try json.string() }
            // The documents of this service begin with both.
            if version != nil, kind != nil || version != "2.0" { return (version, kind) }
        }
        try json.finish()
        return (version, kind)
    }
}

/// Names of a backup that are there twice get a number (HA-13).
func uniqueNames(_ habits: inout [FileHabit], _ problems: inout HabitFileProblems) {
    var taken = TakenNames()
    for index in habits.indices {
        let name = habits[index].name
        habits[index].name = taken.take(name, most: HabitFileRules.nameLength)
        if habits[index].name != name {
            problems.warning("data.habits[\(index)].name", "“\(name)” is there twice; this one becomes “\(habits[index].name)”")
        }
    }
}

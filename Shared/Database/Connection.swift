internal import CPostgres

/// One connection to the server and what is on its way on it. Only the loop's thread touches it.
final class Connection {
    /// What an answer from libpq was.
    enum Answer {
        case outcome(Pipeline<Job, ResultBox>.Outcome)
        case end
        case sync
        /// No more for now.
        case none
        /// The connection is of no more use.
        case dead
    }

    let slot: Int
    /// Tells this connection from an earlier one in the same slot.
    let generation: UInt64
    let socket: Int32
    private let handle: OpaquePointer

    var pipeline = Pipeline<Job, ResultBox>()
    var cache: StatementCache
    /// Who has the connection to itself.
    var lease: Lease?
    /// The lease's statements that wait until a script or a cancellation is over.
    var held = FIFO<Job>()
    /// The script that runs; the connection is out of pipeline mode meanwhile.
    var script: Job?
    var scriptFailure: DatabaseError?
    /// Until when a cancellation may be on its way: nothing may be sent that it could hit instead. Nil when there is none.
    var cancelDeadline: UInt64?
    /// When the server last said something, or the first statement was sent.
    var lastProgress: UInt64 = 0
    /// Whether the loop has it on its list of connections to flush.
    var isMarked = false
    /// Whether epoll watches for room to write.
    var watchesWriting = false

    init(slot: Int, generation: UInt64, handle: Connector.Handle, cacheSize: Int) {
        self.slot = slot
        self.generation = generation
        self.handle = handle.connection
        self.socket = PQsocket(handle.connection)
        self.cache = StatementCache(capacity: cacheSize)
    }

    deinit { PQfinish(handle) }

    /// Statements that are not answered.
    var load: Int { pipeline.jobCount + (script == nil ? 0 : 1) }

    /// Whether the server is outside any transaction; meaningful when nothing is on its way.
    var isOutsideTransaction: Bool { PQtransactionStatus(handle) == PQTRANS_IDLE }

    /// Whether libpq has not noticed an end of the connection.
    var isUp: Bool { PQstatus(handle) == CONNECTION_OK }

    /// Whether a statement may be sent that must not overtake or meet anything else.
    var isReady: Bool { cancelDeadline == nil && script == nil }

    /// Whether the server owes an answer, even one that no statement waits for.
    var isAwaitingServer: Bool { !pipeline.isEmpty || script != nil }

    /// Takes a statement and hands it to libpq, preparing it first if need be. False when the connection is dead; the statement counts as
    /// sent then, which is the careful answer: libpq may have written some of it.
    func send(_ job: Job, _ statement: Statement, scratch: inout BindScratch) -> Bool {
        let count = Int32(job.binds.slots.count)
        if job.isRetry {
            job.statementName = nil
            pipeline.sentExecute(job, isEarly: job.isRead)
            return scratch.withPointers(to: job.binds) { values, lengths, formats in
                PQsendQueryParams(handle, statement.text, count, statement.types, values, lengths, formats, 1) == 1
            }
        }
        let known = cache.name(for: statement.id)
        let name = known ?? cache.insert(statement.id)
        job.statementName = name
        if known == nil { pipeline.sentPrepare(job) }
        pipeline.sentExecute(job, isEarly: job.isRead)
        if known == nil, PQsendPrepare(handle, name, statement.text, Int32(statement.types.count), statement.types) != 1 {
            return false
        }
        return scratch.withPointers(to: job.binds) { values, lengths, formats in
            PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) == 1
        }
    }

    /// Takes a statement without values that will not come again, and hands it over. False when the connection is dead.
    func sendUnprepared(_ job: Job) -> Bool {
        pipeline.sentExecute(job, isEarly: false)
        return PQsendQueryParams(handle, job.text, 0, nil, nil, nil, nil, 1) == 1
    }

    /// Ends an implicit transaction, or just a batch; what was handed over before leaves now.
    func sync() -> Bool {
        guard PQpipelineSync(handle) == 1 else { return false }
        pipeline.sentSync()
        return true
    }

    /// Leaves pipeline mode for a script; the pipeline must be empty. False when the connection is dead.
    func leavePipeline() -> Bool { PQexitPipelineMode(handle) == 1 }

    /// Takes a script and starts it. False when the connection is dead; the script counts as sent then.
    func sendScript(_ job: Job) -> Bool {
        script = job
        scriptFailure = nil
        return PQsendQuery(handle, job.text) == 1
    }

    /// Goes back to pipeline mode after a script.
    func endScript() -> Bool {
        script = nil
        return PQenterPipelineMode(handle) == 1
    }

    /// Writes what waits to be written. Nil when the connection is dead, otherwise whether there is more.
    func flush() -> Bool? {
        switch PQflush(handle) {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// Reads what the socket has. False when the connection is dead; what came before may still be asked for.
    func read() -> Bool { PQconsumeInput(handle) == 1 }

    /// The next answer that is complete.
    func nextAnswer() -> Answer {
        guard PQisBusy(handle) == 0 else { return .none }
        guard let result = PQgetResult(handle) else { return .end }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            return .outcome(.success(ResultBox(owning: result)))
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            return .sync
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            return .outcome(.skipped)
        case PGRES_FATAL_ERROR:
            defer { PQclear(result) }
            guard let error = DatabaseError(serverResult: result) else { return .dead }
            return .outcome(.failure(error))
        default:
            // COPY and its like, which this module does not speak.
            PQclear(result)
            return .dead
        }
    }

    /// What another thread needs to ask the server to stop what it does for this connection.
    func canceller() -> Canceller? { PQgetCancel(handle).map(Canceller.init(owning:)) }
}

/// Asks the server, over a connection of its own, to stop a statement. Blocks.
final class Canceller: @unchecked Sendable {
    private let cancel: OpaquePointer

    init(owning cancel: OpaquePointer) { self.cancel = cancel }

    deinit { PQfreeCancel(cancel) }

    /// Returns when the server has passed the wish on, or cannot be reached; what fails here shows in the statement going on.
    func run() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            _ = PQcancel(cancel, buffer.baseAddress, Int32(buffer.count))
        }
    }
}

/// The arrays libpq wants, kept from one statement to the next.
struct BindScratch {
    private var values: [UnsafePointer<CChar>?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    mutating func withPointers<Result>(
        to binds: Binds,
        _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Result
    ) -> Result {
        values.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        while formats.count < binds.slots.count { formats.append(1) }
        return binds.bytes.withUnsafeBytes { bytes in
            // No bytes at all may have no address, and to libpq no address means NULL.
            withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { empty in
                let start = UnsafeRawPointer(
                    bytes.isEmpty ? empty.baseAddress : UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                )
                for slot in binds.slots {
                    values.append(slot.length == nil ? nil : start?.advanced(by: slot.offset).assumingMemoryBound(to: CChar.self))
                    lengths.append(Int32(clamping: slot.length ?? 0))
                }
                return body(values, lengths, formats)
            }
        }
    }
}

extension DatabaseError {
    /// The error a result carries; nil when it is the connection's and not the statement's.
    init?(serverResult result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        guard let sqlState = field("C") else { return nil }
        // FATAL and PANIC end the connection.
        guard let severity = field("V"), severity == "ERROR" else { return nil }
        if sqlState == "0A000", field("R") == "RevalidateCachedQuery" {
            self.init(.server, sqlState: Self.stalePlanState)
            return
        }
        // Class 42 is about the statement's own text; its messages name schema objects, never values.
        self.init(
            Self.code(sqlState: sqlState),
            sqlState: sqlState,
            constraint: field("n"),
            detail: sqlState.hasPrefix("42") ? field("M") : nil
        )
    }
}

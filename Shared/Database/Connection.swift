internal import CPostgres

/// One connection to the server and its statements in flight. Only the loop's thread uses it.
final class Connection {
    /// The kind of an answer from libpq.
    enum Answer {
        case outcome(Pipeline<Job, ResultBox>.Outcome)
        case end
        case sync
        /// No more for now.
        case none
        /// The connection is broken.
        case dead
    }

    let slot: Int
    /// Distinguishes this connection from an earlier one in the same slot.
    let generation: UInt64
    let socket: Int32
    private let handle: OpaquePointer

    var pipeline = Pipeline<Job, ResultBox>()
    var cache: StatementCache
    /// The lease that holds the connection.
    var lease: Lease?
    /// The lease's statements that wait for the end of a script or a cancellation.
    var held = FIFO<Job>()
    /// The running script; the connection is not in pipeline mode meanwhile.
    var script: Job?
    var scriptFailure: DatabaseError?
    /// Until when a cancellation may be in flight. Nothing may be sent that it could hit instead. Nil when there is none.
    var cancelDeadline: UInt64?
    /// When the server last answered, or the first statement was sent.
    var lastProgress: UInt64 = 0
    /// Whether it is in the loop's list of connections to flush.
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

    /// Statements without an answer.
    var load: Int { pipeline.jobCount + (script == nil ? 0 : 1) }

    /// Whether the server is outside any transaction; valid only when nothing is in flight.
    var isOutsideTransaction: Bool { PQtransactionStatus(handle) == PQTRANS_IDLE }

    /// Whether libpq considers the connection open.
    var isUp: Bool { PQstatus(handle) == CONNECTION_OK }

    /// Whether statements may be sent: no script runs and no cancellation is in flight.
    var isReady: Bool { cancelDeadline == nil && script == nil }

    /// Whether an answer of the server is missing, even one that no statement waits for.
    var isAwaitingServer: Bool { !pipeline.isEmpty || script != nil }

    /// Passes a statement to libpq, preparing it first if needed. False when the connection is dead. The statement then counts as
    /// sent, because libpq may have written a part of it.
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

    /// Passes a statement without values, unprepared, to libpq. False when the connection is dead.
    func sendUnprepared(_ job: Job) -> Bool {
        pipeline.sentExecute(job, isEarly: false)
        return PQsendQueryParams(handle, job.text, 0, nil, nil, nil, nil, 1) == 1
    }

    /// Ends an implicit transaction or a batch, and sends it.
    func sync() -> Bool {
        guard PQpipelineSync(handle) == 1 else { return false }
        pipeline.sentSync()
        return true
    }

    /// Leaves pipeline mode for a script; nothing may be in flight. False when the connection is dead.
    func leavePipeline() -> Bool { PQexitPipelineMode(handle) == 1 }

    /// Starts a script. False when the connection is dead; the script then counts as sent.
    func sendScript(_ job: Job) -> Bool {
        script = job
        scriptFailure = nil
        return PQsendQuery(handle, job.text) == 1
    }

    /// Returns to pipeline mode after a script.
    func endScript() -> Bool {
        script = nil
        return PQenterPipelineMode(handle) == 1
    }

    /// Writes pending data. Nil when the connection is dead, otherwise whether there is more.
    func flush() -> Bool? {
        switch PQflush(handle) {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// Reads from the socket. False when the connection is dead; answers received before may still be read.
    func read() -> Bool { PQconsumeInput(handle) == 1 }

    /// The next complete answer.
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
            // COPY and similar, which this module does not support.
            PQclear(result)
            return .dead
        }
    }

    /// What another thread needs to cancel the running statement of this connection.
    func canceller() -> Canceller? { PQgetCancel(handle).map(Canceller.init(owning:)) }
}

/// Asks the server, over a separate connection, to cancel a statement. Blocks.
final class Canceller: @unchecked Sendable {
    private let cancel: OpaquePointer

    init(owning cancel: OpaquePointer) { self.cancel = cancel }

    deinit { PQfreeCancel(cancel) }

    /// Returns when the server has received the request, or cannot be reached. On failure the statement continues.
    func run() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            _ = PQcancel(cancel, buffer.baseAddress, Int32(buffer.count))
        }
    }
}

/// The arrays for libpq, reused by each statement.
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
            // An empty array may have no address, which libpq would read as NULL.
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
    /// The error of a result; nil when the connection failed, not the statement.
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
        // Messages of class 42 are about the statement's text; they name schema objects, never values.
        self.init(
            Self.code(sqlState: sqlState),
            sqlState: sqlState,
            constraint: field("n"),
            detail: sqlState.hasPrefix("42") ? field("M") : nil
        )
    }
}

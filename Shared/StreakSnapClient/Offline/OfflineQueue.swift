public import Foundation

/// Changes that were made without a network, sent in their order when there is one again. They lie in a folder and survive a restart.
///
/// A snap taken in a tunnel counts for its date (SD-2): ``addSnap(photo:streakIDs:caption:capturedAt:promptID:contentType:)`` notes when it was
/// taken, and the server credits that date if it arrives within 6 hours of its end.
///
/// ```swift
/// let queue = try OfflineQueue(client: streaksnap, folder: folder)
/// try await queue.addSnap(photo: photo, streakIDs: [streak])
/// for outcome in try await queue.flush() { … }   // when the network is back, and at each launch
/// ```
///
/// One queue has one folder. The server knows a change by its key for 24 hours: a change whose reply was lost and that is sent again later
/// than that may be made twice, except for snaps, which are the same by their bytes (PH-3).
public actor OfflineQueue {
    private let client: StreakSnap
    private let folder: URL
    private var changes: [QueuedChange]
    private var flight: Task<[QueueOutcome], any Error>?

    /// A queue with what its folder has.
    ///
    /// - Parameters:
    ///   - client: what sends.
    ///   - folder: is made when it is not there. Not a cache folder: what waits there exists nowhere else.
    /// - Throws: ``StreakSnapError`` of kind `file`.
    public init(client: StreakSnap, folder: URL) throws {
        (self.client, self.folder) = (client, folder)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            changes = try Self.stored(in: folder)
        } catch {
            throw StreakSnapError(kind: .file, message: "The queue's folder cannot be read: \(error)")
        }
    }

    /// What waits, in its order.
    public var waiting: [QueuedChange] { changes }

    /// Adds a change. When this returns it is on the disk.
    ///
    /// - Parameters:
    ///   - endpoint: of a method that changes something.
    ///   - request: its request.
    ///   - file: is copied into the queue's folder.
    @discardableResult
    public func add<Request, Reply>(
        _ endpoint: Endpoint<Request, Reply>,
        _ request: Request,
        file: UploadFile? = nil
    ) async throws -> QueuedChange {
        let userID = try await client.session?.userID
        let change = QueuedChange(
            id: client.surroundings.name(),
            number: (changes.last?.number ?? 0) + 1,
            userID: userID,
            addedAt: client.surroundings.now(),
            request: try PreparedRequest(endpoint.route, request),
            auth: endpoint.route.auth == .none ? "none" : "user",
            timeoutMilliseconds: endpoint.route.timeout.components.seconds * 1_000,
            fileName: file?.name,
            fileType: file?.contentType
        )
        guard endpoint.route.isMutation else {
            throw StreakSnapError(kind: .refused, code: .validationError, message: "Only changes can wait in a queue.")
        }
        do {
            if let file { try copy(file, to: fileURL(change)) }
            try DurableFile.write(try JSONEncoder().encode(change), to: entryURL(change))
        } catch {
            try? FileManager.default.removeItem(at: fileURL(change))
            throw StreakSnapError(kind: .file, message: "The change cannot be stored: \(error)")
        }
        changes.append(change)
        return change
    }

    /// Adds a snap for the date on which it was taken (SD-2).
    ///
    /// - Parameters:
    ///   - photo: is copied.
    ///   - streakIDs: each by its id. `all` would mean those that are active when the snap arrives: not one that broke at midnight, and that
    ///     this snap brings back (SD-6).
    ///   - caption: at most 200 characters.
    ///   - capturedAt: when it was taken; nil for now.
    ///   - promptID: of the day's prompt.
    ///   - contentType: a hint.
    @discardableResult
    public func addSnap(
        photo: URL,
        streakIDs: [StreakID],
        caption: String? = nil,
        capturedAt: Date? = nil,
        promptID: String? = nil,
        contentType: String = "image/jpeg"
    ) async throws -> QueuedChange {
        let request = Media.UploadSnapRequest(
            streakIDs: streakIDs.map(\.rawValue),
            caption: caption,
            capturedAt: capturedAt ?? client.surroundings.now(),
            promptID: promptID
        )
        return try await add(Media.SnapsEndpoints.uploadSnap, request, file: .file(photo, contentType: contentType))
    }

    /// Sends what waits, one after the other. Ends early, and without an error, when the network is away: what is left waits.
    ///
    /// A change that the server refuses leaves the queue; those after it are sent. Callers that come while it runs share it.
    ///
    /// - Returns: what became of the changes that have left the queue.
    @discardableResult
    public func flush(options: CallOptions = .standard) async throws -> [QueueOutcome] {
        if let flight { return try await flight.value }
        let flight = Task { try await self.sendAll(options) }
        self.flight = flight
        return try await withTaskCancellationHandler {
            try await flight.value
        } onCancel: {
            flight.cancel()
        }
    }

    /// Removes a change that waits. One that is being sent may take effect nevertheless.
    public func remove(_ id: QueuedChange.ID) {
        guard let change = changes.first(where: { $0.id == id }) else { return }
        drop(change)
    }

    private func sendAll(_ options: CallOptions) async throws -> [QueueOutcome] {
        defer { flight = nil }
        var outcomes: [QueueOutcome] = []
        let userID = try await client.session?.userID
        for change in changes where change.userID == userID || change.auth == "none" {
            // It may have been removed meanwhile.
            guard changes.contains(where: { $0.id == change.id }) else { continue }
            do {
                outcomes.append(QueueOutcome(change: change, result: .done(try await send(change, options))))
                drop(change)
            } catch let error as StreakSnapError {
                guard error.kind == .refused || error.kind == .file, !error.isTransient, error.status != 401 else {
                    return outcomes
                }
                outcomes.append(QueueOutcome(change: change, result: .refused(error)))
                drop(change)
            }
        }
        return outcomes
    }

    private func send(_ change: QueuedChange, _ options: CallOptions) async throws -> Data {
        var options = options
        options.idempotencyKey = change.id
        var extras = Extras()
        if let name = change.fileName {
            extras.file = UploadFile(source: .file(fileURL(change)), name: name, contentType: change.fileType ?? "")
        }
        let silence = max(.milliseconds(change.timeoutMilliseconds) * 2, .seconds(30))
        let demand = StreakSnap.Demand(auth: change.auth == "none" ? .none : .user, silence: silence)
        return try await client.send(change.request, extras, options, demand).body
    }

    // MARK: the folder

    private func entryURL(_ change: QueuedChange) -> URL {
        folder.appendingPathComponent("\(digits(change.number, 12))-\(change.id).json")
    }

    private func fileURL(_ change: QueuedChange) -> URL { folder.appendingPathComponent("\(change.id).file") }

    /// The entry goes first: a file without an entry is removed at the next start.
    private func drop(_ change: QueuedChange) {
        changes.removeAll { $0.id == change.id }
        try? FileManager.default.removeItem(at: entryURL(change))
        try? FileManager.default.removeItem(at: fileURL(change))
    }

    private func copy(_ file: UploadFile, to target: URL) throws {
        switch file.source {
        case .data(let data): try DurableFile.write(data, to: target)
        case .file(let source):
            try FileManager.default.copyItem(at: source, to: target)
            let handle = try FileHandle(forWritingTo: target)
            defer { try? handle.close() }
            try handle.synchronize()
        }
    }

    /// Entries in their order. Files whose entry was never written, because the app was ended in between, are removed.
    private static func stored(in folder: URL) throws -> [QueuedChange] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let changes = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.compactMap { name in
            try? JSONDecoder().decode(QueuedChange.self, from: try Data(contentsOf: folder.appendingPathComponent(name)))
        }
        let known = Set(changes.map { "\($0.id).file" })
        for name in names where name.hasSuffix(".draft") || (name.hasSuffix(".file") && !known.contains(name)) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
        return changes.sorted { $0.number < $1.number }
    }
}

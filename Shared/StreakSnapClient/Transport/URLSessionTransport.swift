#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Sends by `URLSession`. Replies are taken by a delegate, which also Linux has: there is no `AsyncBytes`.
public final class URLSessionTransport: Transport {
    private let session: URLSession
    private let receiver: Receiver

    /// - Parameter configuration: of the session; by default it keeps neither cookies nor a cache.
    public init(configuration: URLSessionConfiguration? = nil) {
        let settings = configuration ?? Self.standard
        receiver = Receiver()
        session = URLSession(configuration: settings, delegate: receiver, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    private static var standard: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // Deadlines are the client's.
        configuration.timeoutIntervalForResource = 86_400
        return configuration
    }

    public func send(_ request: TransportRequest) async throws -> TransportReply {
        let task = try make(request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                receiver.add(task, .whole(Whole(request, continuation)))
                // Cancelled before it began: the handler below has had no task to end.
                if Task.isCancelled { task.cancel() }
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    public func open(_ request: TransportRequest) async throws -> TransportStream {
        let task = try make(request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                receiver.add(task, .stream(Stream(continuation, cancel: { task.cancel() })))
                if Task.isCancelled { task.cancel() }
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func make(_ request: TransportRequest) throws -> URLSessionTask {
        var made = URLRequest(url: request.url)
        made.httpMethod = request.verb
        made.timeoutInterval = max(1, request.silence / .seconds(1))
        #if canImport(FoundationNetworking)
            // On Linux a request with a body that meets a kept connection which the server has just closed hangs until its timeout: libcurl
            // sends it again, and Foundation cannot rewind its body.
            made.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        for (name, value) in request.headers { made.setValue(value, forHTTPHeaderField: name) }
        switch request.body {
        case .none: return session.dataTask(with: made)
        case .data(let data): return session.uploadTask(with: made, from: data)
        case .file(let file):
            guard FileManager.default.isReadableFile(atPath: file.path) else {
                throw StreakSnapError(kind: .file, message: "\(file.lastPathComponent) cannot be read.")
            }
            return session.uploadTask(with: made, fromFile: file)
        }
    }
}

/// A reply that is collected.
private struct Whole {
    let continuation: CheckedContinuation<TransportReply, any Error>
    let destination: URL?
    let progress: UploadProgress.Handler?
    var reply = TransportReply(status: 0)
    var output: FileHandle?
    var problem: StreakSnapError?

    init(_ request: TransportRequest, _ continuation: CheckedContinuation<TransportReply, any Error>) {
        self.continuation = continuation
        (destination, progress) = (request.destination, request.progress)
    }

    /// Replies of a failure are always collected in memory.
    mutating func begin(_ status: Int, _ headers: [String: String]) {
        (reply.status, reply.headers, reply.body) = (status, headers, Data())
        guard let destination, (200..<300).contains(status) else { return }
        _ = FileManager.default.createFile(atPath: destination.path, contents: nil)
        do { output = try FileHandle(forWritingTo: destination) } catch {
            problem = StreakSnapError(kind: .file, message: "\(destination.lastPathComponent) cannot be written: \(error)")
        }
        reply.file = destination
    }

    mutating func take(_ data: Data) {
        guard problem == nil else { return }
        guard let output else { return reply.body.append(data) }
        do { try output.write(contentsOf: data) } catch {
            problem = StreakSnapError(kind: .file, message: "The file cannot be written: \(error)")
        }
    }

    mutating func end(_ error: (any Error)?) {
        try? output?.close()
        if let error {
            continuation.resume(throwing: Receiver.failure(error))
        } else if let problem {
            continuation.resume(throwing: problem)
        } else if reply.status == 0 {
            continuation.resume(throwing: StreakSnapError(kind: .network, message: "The connection ended without a reply."))
        } else {
            continuation.resume(returning: reply)
        }
    }
}

/// A reply that is passed on piece by piece.
private struct Stream {
    var continuation: CheckedContinuation<TransportStream, any Error>?
    let cancel: @Sendable () -> Void
    var pieces: AsyncThrowingStream<Data, any Error>.Continuation?

    init(_ continuation: CheckedContinuation<TransportStream, any Error>, cancel: @escaping @Sendable () -> Void) {
        (self.continuation, self.cancel) = (continuation, cancel)
    }

    mutating func begin(_ status: Int, _ headers: [String: String]) {
        guard let continuation else { return }
        let (stream, pieces) = AsyncThrowingStream<Data, any Error>.makeStream()
        pieces.onTermination = { [cancel] _ in cancel() }
        self.pieces = pieces
        self.continuation = nil
        continuation.resume(returning: TransportStream(status: status, headers: headers, pieces: stream))
    }

    mutating func end(_ error: (any Error)?) {
        let failure = error.map(Receiver.failure)
        if let continuation {
            continuation.resume(
                throwing: failure ?? StreakSnapError(kind: .network, message: "The connection ended without a reply.")
            )
        } else if let failure {
            pieces?.finish(throwing: failure)
        } else {
            pieces?.finish()
        }
    }
}

/// Takes what comes for all tasks of a session.
private final class Receiver: NSObject, URLSessionDataDelegate, Sendable {
    enum Waiting {
        case whole(Whole)
        case stream(Stream)
    }

    private let waiting = Locked<[Int: Waiting]>([:])

    func add(_ task: URLSessionTask, _ entry: sending Waiting) { waiting.with { $0[task.taskIdentifier] = entry } }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let http = response as? HTTPURLResponse
        var headers: [String: String] = [:]
        for (name, value) in http?.allHeaderFields ?? [:] { headers["\(name)".lowercased()] = "\(value)" }
        change(dataTask) { entry in
            switch entry {
            case .whole(var whole):
                whole.begin(http?.statusCode ?? 0, headers)
                return .whole(whole)
            case .stream(var stream):
                stream.begin(http?.statusCode ?? 0, headers)
                return .stream(stream)
            }
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        change(dataTask) { entry in
            switch entry {
            case .whole(var whole):
                whole.take(data)
                return .whole(whole)
            case .stream(let stream):
                stream.pieces?.yield(data)
                return entry
            }
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let entry = waiting.with { $0[task.taskIdentifier] }
        guard case .whole(let whole) = entry else { return }
        whole.progress?(UploadProgress(sent: totalBytesSent, total: totalBytesExpectedToSend))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        switch waiting.with({ $0.removeValue(forKey: task.taskIdentifier) }) {
        case .whole(var whole): whole.end(error)
        case .stream(var stream): stream.end(error)
        case nil: break
        }
    }

    /// The token is for the server itself, not for another to which it redirects.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        var request = request
        let (old, new) = (task.originalRequest?.url, request.url)
        if old?.host != new?.host || old?.port != new?.port || old?.scheme != new?.scheme {
            request.setValue(nil, forHTTPHeaderField: "Authorization")
        }
        completionHandler(request)
    }

    private func change(_ task: URLSessionTask, _ body: (Waiting) -> Waiting) {
        waiting.with { waiting in
            if let entry = waiting[task.taskIdentifier] { waiting[task.taskIdentifier] = body(entry) }
        }
    }

    static func failure(_ error: any Error) -> any Error {
        if let error = error as? URLError, error.code == .cancelled { return CancellationError() }
        let code = (error as? URLError)?.code
        return StreakSnapError(
            kind: code == .timedOut ? .timedOut : .network,
            message: "The server cannot be reached: \((error as NSError).localizedDescription)"
        )
    }
}

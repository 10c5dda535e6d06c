internal import CCurl
internal import Kernel
private import Synchronization

/// One request and its reply, on the calling thread.
enum Exchange {
    /// libcurl's global state, made once.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    static func perform(
        _ request: OutgoingHTTP.Request,
        isLocal: Bool,
        mayBePlain: Bool,
        idle: IdleHandles
    ) throws(OutgoingHTTP.Failure) -> OutgoingHTTP.Reply {
        guard isReady, let handle = idle.take() else { throw .unreachable("libcurl cannot be used") }
        defer { idle.put(handle) }
        var headers: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(headers) }
        // Without this, libcurl would wait a second for «100 Continue» before a larger body.
        for (name, value) in request.headers + [("Expect", "")] {
            // «Name:» alone would remove a header; an empty one is written with a semicolon.
            guard let longer = curl_slist_append(headers, value.isEmpty && name != "Expect" ? "\(name);" : "\(name): \(value)")
            else {
                throw .unreachable("out of memory")
            }
            headers = longer
        }
        var reply = ReplyBody(limit: request.mostBytes)
        let code = withUnsafeMutablePointer(to: &reply) { reply in
            configure(handle, request, headers, isLocal: isLocal, mayBePlain: mayBePlain, into: reply)
                ?? request.source.map { send(handle, $0) } ?? send(handle, request.body)
        }
        switch code {
        case CURLE_OK: break
        case CURLE_OPERATION_TIMEDOUT: throw .timedOut
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT: throw .notAllowed
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR,
            CURLE_PEER_FAILED_VERIFICATION:
            throw .notConnected(String(cString: curl_easy_strerror(code)))
        default:
            if reply.isTooLarge { throw .tooLarge }
            throw .unreachable(String(cString: curl_easy_strerror(code)))
        }
        var status = 0
        _ = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        return OutgoingHTTP.Reply(status: status, headers: reply.headers, body: reply.bytes)
    }

    /// - Returns: the failure; nil when all options are set.
    private static func configure(
        _ handle: UnsafeMutableRawPointer,
        _ request: OutgoingHTTP.Request,
        _ headers: UnsafeMutablePointer<curl_slist>?,
        isLocal: Bool,
        mayBePlain: Bool,
        into reply: UnsafeMutablePointer<ReplyBody>
    ) -> CURLcode? {
        let milliseconds = max(1, Int(request.timeout.microseconds / 1_000))
        var codes = [
            ccurl_set_text(handle, CURLOPT_URL, request.url),
            ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, mayBePlain ? "http,https" : "https"),
            ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method),
            ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0),
            ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds),
            ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            // Signals are not safe with several threads.
            ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            // Every compression that libcurl supports.
            ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, ""),
            ccurl_set_list(handle, CURLOPT_HTTPHEADER, headers),
            ccurl_set_writer(handle, takeReply, reply), ccurl_set_header_writer(handle, takeHeader, reply),
        ]
        if isLocal { codes.append(ccurl_set_text(handle, CURLOPT_NOPROXY, "*")) }
        if request.method == "HEAD" { codes.append(ccurl_set_long(handle, CURLOPT_NOBODY, 1)) }
        return codes.first { $0 != CURLE_OK }
    }

    private static func send(_ handle: UnsafeMutableRawPointer, _ body: [UInt8]?) -> CURLcode {
        guard let body else { return curl_easy_perform(handle) }
        // The bytes are not copied: they must live until the exchange is over.
        return body.withUnsafeBytes { bytes in
            let size = ccurl_set_long(handle, CURLOPT_POSTFIELDSIZE, bytes.count)
            let fields =
                bytes.baseAddress.map { ccurl_set_pointer(handle, CURLOPT_POSTFIELDS, $0) }
                ?? ccurl_set_text(handle, CURLOPT_POSTFIELDS, "")
            guard size == CURLE_OK, fields == CURLE_OK else { return size == CURLE_OK ? fields : size }
            return curl_easy_perform(handle)
        }
    }

    private static func send(_ handle: UnsafeMutableRawPointer, _ body: any OutgoingBody) -> CURLcode {
        var sending = Sending(body: body)
        return withUnsafeMutablePointer(to: &sending) { sending in
            let codes = [
                ccurl_set_long(handle, CURLOPT_UPLOAD, 1), ccurl_set_size(handle, CURLOPT_INFILESIZE_LARGE, body.size),
                ccurl_set_reader(handle, giveBody, sending), ccurl_set_seeker(handle, seekBody, sending),
            ]
            return codes.first { $0 != CURLE_OK } ?? curl_easy_perform(handle)
        }
    }
}

/// Unused handles of libcurl; each keeps its connections. A handle is here or in use by one thread.
final class IdleHandles: Sendable {
    private let limit: Int
    /// Their addresses.
    private let handles = Mutex<[UInt]>([])

    init(limit: Int) { self.limit = limit }

    deinit { for address in handles.withLock({ $0 }) { curl_easy_cleanup(UnsafeMutableRawPointer(bitPattern: address)) } }

    func take() -> UnsafeMutableRawPointer? {
        // The last one returned: its connection is the most likely to be open.
        let known = handles.withLock { $0.popLast() }
        return known.flatMap { UnsafeMutableRawPointer(bitPattern: $0) } ?? curl_easy_init()
    }

    /// Resets the handle, but keeps its connections.
    func put(_ handle: UnsafeMutableRawPointer) {
        curl_easy_reset(handle)
        let isKept = handles.withLock { handles in
            guard handles.count < limit else { return false }
            handles.append(UInt(bitPattern: handle))
            return true
        }
        if !isKept { curl_easy_cleanup(handle) }
    }
}

/// libcurl's callback: returns the next bytes of the request's body.
private func giveBody(
    _ room: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let room, let sending = context?.assumingMemoryBound(to: Sending.self),
        let given = sending.pointee.body.read(
            at: sending.pointee.offset,
            into: UnsafeMutableRawBufferPointer(start: room, count: size * count)
        )
    else { return Int(CURL_READFUNC_ABORT) }
    sending.pointee.offset += Int64(given)
    return given
}

/// libcurl's callback: send the body again from `offset` on.
private func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    // SEEK_SET; libcurl uses no other.
    guard origin == 0, let sending = context?.assumingMemoryBound(to: Sending.self) else { return Int32(CURL_SEEKFUNC_CANTSEEK) }
    sending.pointee.offset = Int64(offset)
    return Int32(CURL_SEEKFUNC_OK)
}

/// The rest of a body to send.
private struct Sending {
    let body: any OutgoingBody
    var offset: Int64 = 0
}

/// The received part of a reply's body.
private struct ReplyBody {
    let limit: Int
    var headers: [(name: String, value: String)] = []
    var headerBytes = 0
    var bytes: [UInt8] = []
    var isTooLarge = false

    /// Most bytes of all headers.
    static let mostHeaderBytes = 64 << 10
}

/// libcurl's callback: receives the next header line, or the status line of another reply (after «100 Continue»).
private func takeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let reply = context?.assumingMemoryBound(to: ReplyBody.self) else { return 0 }
    let length = size * count
    reply.pointee.headerBytes += length
    guard reply.pointee.headerBytes <= ReplyBody.mostHeaderBytes else {
        reply.pointee.isTooLarge = true
        return 0
    }
    let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
    if line.hasPrefix("HTTP/") {
        reply.pointee.headers.removeAll()
    } else if let colon = line.firstIndex(of: ":") {
        let value = line[line.index(after: colon)...].drop { $0.isWhitespace }
        let end = value.lastIndex { !$0.isWhitespace }.map { value.index(after: $0) } ?? value.startIndex
        reply.pointee.headers.append((line[..<colon].lowercased(), String(value[..<end])))
    }
    return length
}

/// libcurl's callback: receives the next piece. Accepting less than all of it ends the exchange.
private func takeReply(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let reply = context?.assumingMemoryBound(to: ReplyBody.self) else { return 0 }
    let length = size * count
    guard reply.pointee.bytes.count + length <= reply.pointee.limit else {
        reply.pointee.isTooLarge = true
        return 0
    }
    reply.pointee.bytes.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: length))
    return length
}

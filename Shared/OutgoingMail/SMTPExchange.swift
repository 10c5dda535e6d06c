internal import CCurl
internal import Kernel

/// One message and the answer to it, on the calling thread and a connection of its own.
enum SMTPExchange {
    /// libcurl's global state, made once.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    static func perform(_ envelope: SMTPEnvelope, with server: SMTPServer, timeout: Interval) -> OutgoingMail.Outcome {
        guard isReady, let handle = curl_easy_init() else { return .postponed("libcurl cannot be used") }
        defer { curl_easy_cleanup(handle) }
        guard let recipients = curl_slist_append(nil, "<\(envelope.to)>") else { return .postponed("out of memory") }
        defer { curl_slist_free_all(recipients) }
        var course = Course(bytes: envelope.bytes)
        let code = withUnsafeMutablePointer(to: &course) { course in
            configure(handle, envelope, recipients, server, timeout, course) ?? curl_easy_perform(handle)
        }
        return course.dialogue.outcome(code == CURLE_OK ? nil : String(cString: curl_easy_strerror(code)))
    }

    /// - Returns: the failure; nil when all options are set.
    private static func configure(
        _ handle: UnsafeMutableRawPointer,
        _ envelope: SMTPEnvelope,
        _ recipients: UnsafeMutablePointer<curl_slist>,
        _ server: SMTPServer,
        _ timeout: Interval,
        _ course: UnsafeMutablePointer<Course>
    ) -> CURLcode? {
        let milliseconds = max(1, Int(timeout.microseconds / 1_000))
        let encryption = server.mustEncrypt ? CURLUSESSL_ALL : CURLUSESSL_TRY
        var codes = [
            ccurl_set_text(handle, CURLOPT_URL, server.url), ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps"),
            ccurl_set_long(handle, CURLOPT_USE_SSL, Int(encryption.rawValue)),
            // A proxy of the environment is for the web.
            ccurl_set_text(handle, CURLOPT_NOPROXY, "*"),
            ccurl_set_text(handle, CURLOPT_MAIL_FROM, "<\(envelope.from)>"),
            ccurl_set_list(handle, CURLOPT_MAIL_RCPT, recipients),
            ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds),
            ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            // Also how long libcurl waits for an answer to its goodbye, after the exchange has failed.
            ccurl_set_long(handle, CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, milliseconds / 2_000)),
            // Signals are not safe with several threads.
            ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1), ccurl_set_long(handle, CURLOPT_UPLOAD, 1),
            ccurl_set_size(handle, CURLOPT_INFILESIZE_LARGE, Int64(envelope.bytes.count)),
            ccurl_set_reader(handle, giveMessage, course), ccurl_set_observer(handle, observe, course),
            ccurl_set_writer(handle, dropBody, nil),
        ]
        if let authorities = server.authorities { codes.append(ccurl_set_text(handle, CURLOPT_CAINFO, authorities)) }
        return codes.first { $0 != CURLE_OK }
    }
}

/// The message as it is handed over, and what is said meanwhile.
private struct Course {
    let bytes: [UInt8]
    var offset = 0
    var dialogue = SMTPDialogue()
}

/// libcurl's callback: returns the next bytes of the message.
private func giveMessage(
    _ room: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let room, let course = context?.assumingMemoryBound(to: Course.self) else { return Int(CURL_READFUNC_ABORT) }
    let rest = course.pointee.bytes[course.pointee.offset...].prefix(size * count)
    UnsafeMutableRawBufferPointer(start: room, count: size * count).copyBytes(from: rest)
    course.pointee.offset += rest.count
    if course.pointee.offset == course.pointee.bytes.count { course.pointee.dialogue.messageSent() }
    return rest.count
}

/// libcurl's callback: a line that was sent or received.
private func observe(
    _: UnsafeMutableRawPointer?,
    _ kind: curl_infotype,
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let bytes, let course = context?.assumingMemoryBound(to: Course.self) else { return 0 }
    let line = { String(decoding: UnsafeRawBufferPointer(start: bytes, count: size), as: UTF8.self) }
    switch kind {
    case CURLINFO_HEADER_OUT: course.pointee.dialogue.sent(line())
    case CURLINFO_HEADER_IN: course.pointee.dialogue.received(line())
    default: break
    }
    return 0
}

/// libcurl's callback: there is nothing to read but the lines that `observe` sees.
private func dropBody(_: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _: UnsafeMutableRawPointer?) -> Int {
    size * count
}

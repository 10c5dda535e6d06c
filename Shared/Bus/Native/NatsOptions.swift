internal import CNats
internal import Glibc
internal import Kernel
internal import Loop
internal import Synchronization

/// The options of nats.c.
enum NatsOptions {
    /// A broker that takes nothing of what waits for this long is left for another connection.
    static let writeDeadlineMilliseconds: Int64 = 500
    /// Bytes that may be published while the broker is down or takes nothing; beyond it publishing fails.
    static let reconnectBufferBytes: Int32 = 8 << 20
    /// Messages that may wait for the loop, for each subscription; beyond it they are dropped and reported.
    static let pendingMessages: Int32 = 65_536
    /// Bytes that may wait for the loop, for each subscription.
    static let pendingBytes: Int32 = 128 << 20

    /// Opens nats.c without its spin locks: a thread that spins takes the processor from the one that it waits for.
    private static let library: natsStatus = nats_Open(0)

    /// Connects once.
    ///
    /// - Parameter loop: serves the connection.
    /// - Returns: The connection, or the reason for the failure.
    static func connect(_ configuration: BusConfiguration, loop: IOLoop, events: CallbackKey) -> (NatsHandle?, natsStatus) {
        _ = library
        guard let socket = LoopSocket(loop: loop) else { return (nil, NATS_NO_MEMORY) }
        let key = CallbackKey(Callbacks.sockets.add(socket))
        let (handle, status) = connect(configuration, socket, key, events)
        guard let handle, socket.serve(handle) else {
            Callbacks.sockets.remove(key.pointer)
            return (nil, handle == nil ? status : NATS_CONNECTION_CLOSED)
        }
        return (handle, NATS_OK)
    }

    private static func connect(
        _ configuration: BusConfiguration,
        _ socket: LoopSocket,
        _ key: CallbackKey,
        _ events: CallbackKey
    ) -> (NatsHandle?, natsStatus) {
        var options: OpaquePointer?
        var status = natsOptions_Create(&options)
        guard status == NATS_OK, let options else { return (nil, status) }
        defer { natsOptions_Destroy(options) }
        status = apply(configuration, events.pointer, to: options)
        if status == NATS_OK {
            status = natsOptions_SetEventLoop(options, key.pointer, natsAttach, natsWantsInput, natsWantsOutput, natsDetach)
        }
        guard status == NATS_OK else { return (nil, status) }
        var connection: OpaquePointer?
        status = natsConnection_Connect(&connection, options)
        guard status == NATS_OK, let connection else { return (nil, status == NATS_OK ? NATS_ERR : status) }
        return (NatsHandle(connection, socket), NATS_OK)
    }

    private static func apply(
        _ configuration: BusConfiguration,
        _ events: UnsafeMutableRawPointer?,
        to options: OpaquePointer
    ) -> natsStatus {
        let wait = configuration.reconnectWait.microseconds / 1_000
        let steps: [natsStatus] = [
            apply(servers: configuration.servers, to: options),
            natsOptions_SetName(options, configuration.name),
            natsOptions_SetTimeout(options, 2_000),
            // Without it every hop waits about a millisecond for more to send.
            natsOptions_SetSendAsap(options, true),
            natsOptions_SetWriteDeadline(options, writeDeadlineMilliseconds),
            natsOptions_SetAllowReconnect(options, true),
            natsOptions_SetMaxReconnect(options, -1),
            natsOptions_SetReconnectWait(options, max(10, wait)),
            natsOptions_SetReconnectJitter(options, 100, 100),
            natsOptions_SetReconnectBufSize(options, reconnectBufferBytes),
            natsOptions_SetMaxPendingMsgs(options, pendingMessages),
            // A broker that is frozen or cut off is left after two to three seconds.
            natsOptions_SetPingInterval(options, 1_000),
            natsOptions_SetMaxPingsOut(options, 2),
            natsOptions_SetNoEcho(options, false),
            natsOptions_SetDisconnectedCB(options, natsDisconnected, events),
            natsOptions_SetReconnectedCB(options, natsReconnected, events),
            natsOptions_SetClosedCB(options, natsClosed, events),
            natsOptions_SetErrorHandler(options, natsFailed, events),
        ]
        if let failure = steps.first(where: { $0 != NATS_OK }) { return failure }
        let credentials = apply(credentials: configuration, to: options)
        return credentials == NATS_OK ? apply(tls: configuration.tls, to: options) : credentials
    }

    /// The library takes several servers as a list; it tries them in random order, and later those that the cluster announces.
    private static func apply(servers: [String], to options: OpaquePointer) -> natsStatus {
        guard servers.count > 1 else { return natsOptions_SetURL(options, servers.first ?? "") }
        let copies = servers.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer($0) }
        return natsOptions_SetServers(options, &pointers, Int32(pointers.count))
    }

    private static func apply(credentials configuration: BusConfiguration, to options: OpaquePointer) -> natsStatus {
        if let user = configuration.user { return natsOptions_SetUserInfo(options, user, configuration.password ?? "") }
        if let token = configuration.token { return natsOptions_SetToken(options, token) }
        if let file = configuration.credentialsFile { return natsOptions_SetUserCredentialsFromFiles(options, file, nil) }
        return NATS_OK
    }

    private static func apply(tls: BusConfiguration.TLS?, to options: OpaquePointer) -> natsStatus {
        guard let tls else { return NATS_OK }
        var status = natsOptions_SetSecure(options, true)
        if status == NATS_OK, let file = tls.authoritiesFile {
            status = natsOptions_LoadCATrustedCertificates(options, file)
        }
        if status == NATS_OK, let certificate = tls.certificateFile, let key = tls.keyFile {
            status = natsOptions_LoadCertificatesChain(options, certificate, key)
        }
        if status == NATS_OK, let hostname = tls.expectedHostname {
            status = natsOptions_SetExpectedHostname(options, hostname)
        }
        return status
    }
}

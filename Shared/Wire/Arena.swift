internal import CProtobufC
internal import Glibc

/// Memory for the C structs of one encode or decode: taken by moving a cursor, given back all at once.
///
/// Each thread keeps one first chunk between calls, so a usual message costs no `malloc`. A codec call never suspends, so a
/// thread's chunk has one user at a time; a call within a call gets a chunk of its own.
public struct Arena {
    @usableFromInline let state: UnsafeMutablePointer<State>

    /// Lives at the start of the first chunk.
    @usableFromInline struct State {
        @usableFromInline var cursor: UnsafeMutableRawPointer
        @usableFromInline var remaining: Int
        /// Chunks beyond the first, each beginning with a pointer to the one before.
        var overflow: UnsafeMutableRawPointer?
        var taken: Int
        /// Bytes that libprotobuf-c may take; beyond it, it gets NULL and gives up.
        var budget: Int
        var isExhausted: Bool
        var allocator: ProtobufCAllocator
    }

    /// Holds a page of a list: what takes more costs a `malloc`, and its `free` a walk through the heap.
    static let firstChunkBytes = 64 << 10
    @usableFromInline static let alignment = 16

    /// Space for `count` C structs or pointers, zeroed. (A struct with a union is no `BitwiseCopyable`, hence no such bound.)
    @inlinable
    public func allocate<Value>(_: Value.Type, count: Int = 1) -> UnsafeMutablePointer<Value> {
        let size = MemoryLayout<Value>.stride * count
        let memory = take(size)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        return memory.bindMemory(to: Value.self, capacity: count)
    }

    /// `size` bytes, aligned for any C type, not initialised.
    @inlinable
    func take(_ size: Int) -> UnsafeMutableRawPointer {
        let rounded = (size + Self.alignment - 1) & ~(Self.alignment - 1)
        if rounded <= state.pointee.remaining {
            let memory = state.pointee.cursor
            state.pointee.cursor = memory + rounded
            state.pointee.remaining -= rounded
            return memory
        }
        return grow(rounded)
    }

    @usableFromInline
    func grow(_ size: Int) -> UnsafeMutableRawPointer {
        let header = Self.alignment
        let chunk = max(size + header, min(2 * state.pointee.taken + Self.firstChunkBytes, 4 << 20))
        let memory = UnsafeMutableRawPointer.allocate(byteCount: chunk, alignment: Self.alignment)
        memory.storeBytes(of: state.pointee.overflow, as: UnsafeMutableRawPointer?.self)
        state.pointee.overflow = memory
        state.pointee.taken += chunk
        // A big piece gets a chunk of its own so that the rest of the current one is not lost.
        if chunk == size + header { return memory + header }
        state.pointee.cursor = memory + header + size
        state.pointee.remaining = chunk - header - size
        return memory + header
    }

    /// The allocator to hand to libprotobuf-c; valid until the arena is given back.
    var allocator: UnsafeMutablePointer<ProtobufCAllocator> {
        let offset = MemoryLayout<State>.offset(of: \.allocator) ?? 0
        return (UnsafeMutableRawPointer(state) + offset).assumingMemoryBound(to: ProtobufCAllocator.self)
    }

    /// An empty arena, to be given back by the same thread.
    static func borrow() -> Arena {
        let chunk: UnsafeMutableRawPointer
        if let kept = pthread_getspecific(threadChunk) {
            pthread_setspecific(threadChunk, nil)
            chunk = kept
        } else {
            chunk = .allocate(byteCount: firstChunkBytes, alignment: alignment)
        }
        let header = (MemoryLayout<State>.size + alignment - 1) & ~(alignment - 1)
        let state = chunk.bindMemory(to: State.self, capacity: 1)
        state.initialize(
            to: State(
                cursor: chunk + header,
                remaining: firstChunkBytes - header,
                overflow: nil,
                taken: 0,
                budget: WireLimits.maxArenaBytes,
                isExhausted: false,
                allocator: ProtobufCAllocator(alloc: arenaAllocate, free: arenaFree, allocator_data: chunk)
            )
        )
        return Arena(state: state)
    }

    /// Frees what was taken. Nothing that lies in the arena may be used afterwards.
    func giveBack() {
        var overflow = state.pointee.overflow
        while let chunk = overflow {
            overflow = chunk.load(as: UnsafeMutableRawPointer?.self)
            chunk.deallocate()
        }
        let chunk = UnsafeMutableRawPointer(state)
        if pthread_getspecific(Self.threadChunk) == nil, pthread_setspecific(Self.threadChunk, chunk) == 0 { return }
        chunk.deallocate()
    }

    private static let threadChunk: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, releaseThreadChunk)
        precondition(status == 0, "no thread-specific keys left")
        return key
    }()
}

// Formed at file scope: libprotobuf-c and the thread library call them on any thread.
private let releaseThreadChunk: @convention(c) (UnsafeMutableRawPointer?) -> Void = { $0?.deallocate() }

private let arenaFree: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = { _, _ in }

private let arenaAllocate: @convention(c) (UnsafeMutableRawPointer?, Int) -> UnsafeMutableRawPointer? = { data, size in
    guard let state = data?.assumingMemoryBound(to: Arena.State.self) else { return nil }
    guard size >= 0, size <= state.pointee.budget else {
        state.pointee.isExhausted = true
        return nil
    }
    state.pointee.budget -= size
    return Arena(state: state).take(size)
}

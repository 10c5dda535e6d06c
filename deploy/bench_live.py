"""deploy/dev bench live: many open streams of live events (GET /api/events) on one gateway.

It registers people, opens five streams for each, and measures

  memory   resident and private memory of the gateway before and with the streams, and what one stream costs
  CPU      of each process while nothing happens: comments and renewed leases
  latency  from a friend request to its notification on the last of the five streams of the other person

BENCH_STREAMS  how many streams (10000)     BENCH_QUIET  seconds without events (60)     BENCH_EVENTS  friend requests (500)
"""
import asyncio, concurrent.futures, os, resource, sys, time, urllib.error

EACH = 5


def number(name, default):
    return int(os.environ.get(name, default))


class Stream(asyncio.Protocol):
    """Counts what arrives on one stream; `arrivals` gets (person, instant) of each notification."""

    def __init__(self, person, token, port, arrivals):
        self.person, self.arrivals = person, arrivals
        self.request = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        self.opened = asyncio.get_running_loop().create_future()
        self.comments = 0
        self.rest = b""
        self.ended = False

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data):
        if not self.opened.done():
            # The first event is the reset, in a piece of its own or with the head.
            self.rest += data
            if b"\r\n\r\n" not in self.rest:
                return
            if not self.rest.startswith(b"HTTP/1.1 200"):
                self.opened.set_exception(RuntimeError(self.rest[:400].decode()))
                return
            if b"event: reset" not in self.rest:
                return
            self.opened.set_result(None)
            self.rest = b""
            return
        self.comments += data.count(b":\n\n")
        for _ in range(data.count(b"event: notification")):
            self.arrivals.append((self.person, time.monotonic()))

    def connection_lost(self, error):
        self.ended = True
        if not self.opened.done():
            self.opened.set_exception(error or RuntimeError("closed before it was open"))


async def open_all(people, port, arrivals):
    loop, streams, gate = asyncio.get_running_loop(), [], asyncio.Semaphore(100)

    async def one(person, token):
        async with gate:
            _, stream = await loop.create_connection(lambda: Stream(person, token, port, arrivals), "127.0.0.1", port)
            await asyncio.wait_for(stream.opened, 60)
            streams.append(stream)

    await asyncio.gather(*(one(person, token) for person, (token, _) in enumerate(people) for _ in range(EACH)))
    return streams


async def measure(system, people, quiet, events):
    arrivals = []
    before = system.memory()["gateway"]
    cpu, started = system.cpu(), time.monotonic()
    streams = await open_all(people, system.port, arrivals)
    took, opened = time.monotonic() - started, system.cpu()
    print(f"\n{len(streams)} streams of {len(people)} people were opened in {took:.1f} s; CPU in µs a stream: " + ", ".join(
        f"{name} {(opened[name] - cpu.get(name, 0)) / len(streams) * 1e6:.0f}"
        for name in sorted(opened, key=lambda name: cpu.get(name, 0) - opened[name]) if opened[name] - cpu.get(name, 0) > 0.1))
    # The comments begin 15 s after the last event.
    await asyncio.sleep(20)
    for stream in streams:
        stream.comments = 0
    cpu, started = system.cpu(), time.monotonic()
    await asyncio.sleep(quiet)
    idle, passed = system.cpu(), time.monotonic() - started
    after = system.memory()["gateway"]
    print(f"gateway, MB: {before[0] / 1024:.1f} resident, {before[1] / 1024:.1f} private before; {after[0] / 1024:.1f} and "
          f"{after[1] / 1024:.1f} with them: {(after[1] - before[1]) / len(streams):.1f} kB a stream")
    print("quiet, share of one processor: " + ", ".join(
        f"{name} {(idle[name] - cpu.get(name, 0)) / passed:.1%}" for name in sorted(idle, key=lambda name: cpu.get(name, 0) - idle[name])
        if (idle[name] - cpu.get(name, 0)) / passed > 0.001))
    comments = sum(stream.comments for stream in streams) / len(streams)
    print(f"comments on a stream in {passed:.0f} s: {comments:.1f}")
    await latencies(system, people, arrivals, events)
    lost = sum(1 for stream in streams if stream.ended)
    if lost:
        sys.exit(f"{lost} streams ended by themselves")
    for stream in streams:
        stream.transport.close()
    await asyncio.sleep(1)


async def latencies(system, people, arrivals, events):
    loop, sent = asyncio.get_running_loop(), {}
    for pair in range(min(events, len(people) // 2)):
        (token, _), (_, user) = people[2 * pair], people[2 * pair + 1]
        sent[2 * pair + 1] = time.monotonic()
        await loop.run_in_executor(None, lambda: system.call("POST", "/api/friends/request", {"user_id": user}, token))
    deadline = time.monotonic() + 30
    while len(arrivals) < EACH * len(sent) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    last = {}
    for person, instant in arrivals:
        last[person] = max(instant, last.get(person, 0))
    times = sorted(last[person] - sent[person] for person in sent if person in last)
    if len(arrivals) != EACH * len(sent):
        sys.exit(f"{len(arrivals)} notifications arrived instead of {EACH * len(sent)}")
    print(f"{len(sent)} friend requests, from the request to the last of five streams: p50 {times[len(times) // 2] * 1e3:.0f} ms, "
          f"p99 {times[len(times) * 99 // 100] * 1e3:.0f} ms, at most {times[-1] * 1e3:.0f} ms")


def live(make_system, make_person):
    """`make_system()` starts a system; `make_person(system, name)` registers a user: a token and an id."""
    streams, quiet, events = number("BENCH_STREAMS", 10_000), number("BENCH_QUIET", 60), number("BENCH_EVENTS", 500)
    # For this process and all that it starts.
    needed, (_, hard) = streams + 2_000, resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(needed, hard), max(needed, hard)))
    except (OSError, ValueError) as error:
        sys.exit(f"{needed} open files are needed ({error}); see ulimit -n")
    system = make_system()
    try:
        def patiently(name):
            # One address may have only so many passwords hashed at once.
            while True:
                try:
                    return make_person(system, name)
                except urllib.error.HTTPError as error:
                    if error.code != 429:
                        raise
                    time.sleep(0.05)

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            people = list(pool.map(patiently, (f"live.{n}" for n in range(max(2, streams // EACH)))))
        asyncio.run(measure(system, people, quiet, events))
    finally:
        system.stop()

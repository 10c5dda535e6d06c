"""deploy/dev bench hostile: what others notice of accounts that ask for what costs most.

People post a photo each at a steady pace, first undisturbed, then while one account of each kind below does nothing but that, as often as
it may, each from an address of its own, with the limits and the cost of passwords of a real installation:

  picture       a post with the largest picture that is taken (56 megapixels)
  restore       a backup of habits of 80 MB that is none
  changes       a sync of a thousand changes that change nothing
  pulls         a sync that only reads, each with a key of its own
  accounts      registrations
  guesses       sign-ins with a wrong password
  exports       everything that is stored of a person
  map           clusters of the whole world
  search        users by two letters
  connections   a thousand that never finish their request, made anew when they are closed

Prints what the people noticed, what each kind got, and how memory and disk grew. Only when it is named; it takes BENCH_MINUTES (60) and a
tenth of it, undisturbed.

BENCH_EVERY   seconds between two photos (2)
"""
import concurrent.futures, http.client, json, os, selectors, socket, struct, subprocess, threading, time, uuid, zlib

from bench_check_ins import accounts

EVERY = float(os.environ.get("BENCH_EVERY", "2"))
MINUTES = float(os.environ.get("BENCH_MINUTES", "60"))
# Of a real installation, which deploy/dev and benchmarks loosen; and a quota of files that is met within the run.
LIMITS = {"STREAKSNAP_HTTP_USER_RATE": "20", "STREAKSNAP_HTTP_ADDRESS_RATE": "200", "STREAKSNAP_AUTH_ADDRESS_REGISTRATIONS": "30",
          "STREAKSNAP_AUTH_REGISTRATIONS": "1000", "STREAKSNAP_QUOTAS": "place_post.file_bytes=500"}


def form(fields, name, file, kind):
    """A multipart body and its content type."""
    parts = [f'--part\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields.items()]
    head = f'--part\r\nContent-Disposition: form-data; name="{name}"; filename="a"\r\nContent-Type: {kind}\r\n\r\n'.encode()
    return b"".join(parts) + head + file + b"\r\n--part--\r\n", "multipart/form-data; boundary=part"


def largest_picture():
    """A PNG of 7,480 × 7,480 pixels."""
    side = 7_480
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows, squeeze = [], zlib.compressobj(6)
    for row in range(side):
        rows.append(squeeze.compress(b"\0" + bytes((row * 7 + n) & 255 for n in range(61)) * (side * 3 // 61) + bytes(side * 3 % 61)))
    data = b"".join(rows) + squeeze.flush()
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class Client:
    """One user's connection from an address of its own."""

    def __init__(self, system, address, account=None):
        self.port, self.address, self.account = system.port, address, account
        self.renewed = time.monotonic()
        self.connection = None

    def ask(self, method, path, body=None, kind="application/json", key=None):
        """The status, the seconds until the reply was whole, and the seconds that it wants to be waited."""
        headers = {"Content-Type": kind} if body is not None else {}
        if key:
            headers["Idempotency-Key"] = key
        if self.account:
            headers["Authorization"] = f"Bearer {self.account['access_token']}"
        started = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120, source_address=(self.address, 0))
            self.connection.request(method, path, body, headers)
            reply = self.connection.getresponse()
            text, wait = reply.read(), float(reply.getheader("Retry-After") or 0)
            if reply.getheader("Connection") == "close":
                self.close()
            self.text = text
            return reply.status, time.monotonic() - started, wait
        except (OSError, http.client.HTTPException):
            # A body that is refused may end the connection before it is sent.
            self.close()
            return 0, time.monotonic() - started, 0

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def renew(self):
        """A new access token: they last a quarter of an hour."""
        status, _, _ = self.ask("POST", "/api/auth/refresh", json.dumps({"refresh_token": self.account["refresh_token"]}))
        if status == 200:
            self.account = json.loads(self.text)["data"]
            self.renewed = time.monotonic()
        return status == 200


class Attack(threading.Thread):
    """One kind of request, again and again until it is stopped. A limit is waited for, as a program does that wants the most."""

    def __init__(self, name, client, make):
        super().__init__(daemon=True)
        self.kind, self.client, self.make = name, client, make
        self.counts, self.ended = {}, threading.Event()

    def run(self):
        while not self.ended.is_set():
            if self.client.account and time.monotonic() > self.client.renewed + 600 and not self.client.renew():
                self.counts["no token"] = self.counts.get("no token", 0) + 1
                self.ended.wait(5)
                continue
            status, _, wait = self.client.ask(*self.make())
            self.counts[status] = self.counts.get(status, 0) + 1
            if status == 429:
                self.ended.wait(max(0.05, min(wait, 30)))
            elif status in (0, 503):
                self.ended.wait(0.2)


class Connections(threading.Thread):
    """A thousand connections with half a head each."""

    def __init__(self, port, address, count=1_000):
        super().__init__(daemon=True)
        self.kind, self.port, self.address, self.count = "connections", port, address, count
        self.counts, self.ended = {}, threading.Event()

    def run(self):
        with selectors.DefaultSelector() as selector:
            open_ones = 0
            while not self.ended.is_set():
                while open_ones < self.count and not self.ended.is_set():
                    try:
                        one = socket.create_connection(("127.0.0.1", self.port), 5, (self.address, 0))
                        one.sendall(b"GET /api/health HTTP/1.1\r\nX-Long: " + b"x" * 4_000)
                        selector.register(one, selectors.EVENT_READ)
                        open_ones += 1
                        self.counts["made"] = self.counts.get("made", 0) + 1
                    except OSError:
                        self.counts["refused"] = self.counts.get("refused", 0) + 1
                        break
                for key, _ in selector.select(0.5):
                    try:
                        more = key.fileobj.recv(4_096)
                    except OSError:
                        more = b""
                    if not more:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()
                        open_ones -= 1
                        self.counts["closed"] = self.counts.get("closed", 0) + 1


def attacks(system, accounts):
    """One of each kind. `accounts` are those of the kinds that have one."""
    picture = form({"latitude": "52.5", "longitude": "13.4"}, "photo", largest_picture(), "image/png")
    junk = form({}, "file", b'{"habits":[' + b'{"a":"bbbbbbbbbbbbbbbb"},' * (80_000_000 // 25) + b'1]}', "application/json")
    device = str(uuid.uuid4())

    def sync(changes):
        return json.dumps({"device_id": device, "schema_version": 1, "epoch": 0, "cursor": "", "changes": changes})

    def changes():
        return sync([{"change_id": str(uuid.uuid4()), "entity": "settings", "operation": "update", "settings": {"theme": "dark"}}
                     for _ in range(1_000)])

    fresh = lambda: uuid.uuid4().hex
    register = lambda name: json.dumps({"email": f"{name}@example.com", "password": "bench password", "username": f"x{name[:12]}"})
    kinds = {
        "picture": lambda: ("POST", "/api/posts", *picture, fresh()),
        "restore": lambda: ("POST", "/api/habits/restore", *junk, fresh()),
        "changes": lambda: ("POST", "/api/sync", changes(), "application/json", fresh()),
        "pulls": lambda: ("POST", "/api/sync", sync([]), "application/json", fresh()),
        "exports": lambda: ("GET", "/api/users/me/export"),
        "map": lambda: ("GET", "/api/posts/clusters?bbox=-180,-85,180,85&zoom=10"),
        "search": lambda: ("GET", "/api/friends/search?q=be"),
        "accounts": lambda: ("POST", "/api/auth/register", register(fresh())),
        "guesses": lambda: ("POST", "/api/auth/login", json.dumps({"email": "bench.hostile0@example.com", "password": fresh()})),
    }
    without = {"accounts", "guesses"}
    made = [Attack(name, Client(system, f"127.0.2.{place + 1}", None if name in without else accounts.pop()), make)
            for place, (name, make) in enumerate(kinds.items())]
    return made + [Connections(system.port, "127.0.2.100")]


def befriend(system, accounts):
    """Neighbours become friends."""
    def one(place):
        first, second = accounts[place], accounts[place + 1]
        request = system.call("POST", "/api/friends/request", {"user_id": second["user"]["id"]}, first["access_token"])
        system.call("PUT", f"/api/friends/{request['friendship_id']}/respond", {"action": "accept"}, second["access_token"])
        for account in (first, second):
            system.call("POST", "/api/users/me/terms", {"version": "2026-01"}, account["access_token"])

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(one, range(0, len(accounts), 2)))


def snaps(system, accounts, photo):
    """One photo of each account, at a steady pace whatever becomes of those before: how long each took, and what was refused."""
    times, refused, lock = [], {}, threading.Lock()

    def one(place, account):
        client = Client(system, f"127.0.1.{place % 250 + 1}", account)
        renewed = client.renew()
        status, took, _ = client.ask("POST", "/api/photos/upload", *photo, uuid.uuid4().hex) if renewed else ("no token", 0, 0)
        client.close()
        with lock:
            if status == 201:
                times.append(took)
            else:
                refused[status] = refused.get(status, 0) + 1

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(64) as threads:
        for place, account in enumerate(accounts):
            time.sleep(max(0, began + place * EVERY - time.monotonic()))
            threads.submit(one, place, account)
    return sorted(times), refused


def disk(system):
    """Megabytes of the data folder's parts."""
    output = subprocess.run(["du", "-sm", *(f"{system.folder}/data/{part}" for part in ("postgres", "nats", "blobs"))],
                            capture_output=True, text=True).stdout
    return {line.split("\t")[1].rsplit("/", 1)[1]: int(line.split("\t")[0]) for line in output.splitlines()}


def watch(system, ended):
    """Prints memory and disk ten times."""
    while True:
        memory = {name: sizes[0] // 1024 for name, sizes in system.memory().items()}
        print(f"{time.strftime('%H:%M:%S')}  resident MB {sum(memory.values())}: " + ", ".join(f"{n} {v}" for n, v in memory.items())
              + "; disk MB " + ", ".join(f"{n} {v}" for n, v in disk(system).items()), flush=True)
        if ended.wait(MINUTES * 6):
            return


def show(title, times, refused):
    at = lambda share: times[min(len(times) - 1, len(times) * share // 100)] * 1e3 if times else 0
    print(f"{title:14}{len(times):7} taken, p50 {at(50):6.0f} ms, p90 {at(90):6.0f} ms, p99 {at(99):6.0f} ms; refused: "
          + (", ".join(f"{count} × {status}" for status, count in refused.items()) or "none"), flush=True)


def hostile(make_system, binaries):
    quiet, busy = max(20, int(MINUTES * 6 / EVERY)) // 2 * 2, max(20, int(MINUTES * 60 / EVERY)) // 2 * 2
    system = make_system()
    try:
        people = accounts(system, quiet + busy, "poster")
        befriend(system, people)
        enemies = accounts(system, 8, "hostile")
        for account in enemies:
            system.call("POST", "/api/users/me/terms", {"version": "2026-01"}, account["access_token"])
        file = f"{system.folder}/snap.jpg"
        subprocess.run([f"{binaries}/streaksnap", "photo", file, "--width", "1280", "--height", "960"], check=True, stdout=subprocess.DEVNULL)
        photo = form({"streak_ids": "all"}, "photo", open(file, "rb").read(), "image/jpeg")
        system.bcrypt_cost = 12
        system.restart(LIMITS)
        print(f"\n{quiet} people undisturbed, then {busy} beside ten kinds of expensive requests; one photo every {EVERY} s")
        show("undisturbed", *snaps(system, people[:quiet], photo))
        ended = threading.Event()
        watcher = threading.Thread(target=watch, args=(system, ended), daemon=True)
        watcher.start()
        running = attacks(system, enemies)
        for attack in running:
            attack.start()
        show("beside them", *snaps(system, people[quiet:], photo))
        for attack in running:
            attack.ended.set()
        ended.set()
        watcher.join(30)
        for attack in running:
            print(f"{attack.kind:14}" + ", ".join(f"{count} × {status}" for status, count in sorted(attack.counts.items(), key=str)))
    finally:
        system.stop()

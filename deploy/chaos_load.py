"""The load of `deploy/dev chaos --cluster`: pairs of friends who post and check in, what they were answered, and whether it is still so."""
import concurrent.futures, datetime, http.client, json, random, struct, threading, time, uuid

PASSWORD = "correct-horse-battery"
# How long a phone waits for an answer before it sends the same again, and after how long it is an error of the system, in seconds.
TIMEOUT, LIMIT = 5, 150
# A read by a user who looks: it is not repeated, so each one counts as failed or not.
READ_TIMEOUT, READ_INTERVAL = 2, 0.2
UPLOAD, CHECK_IN = "POST /api/photos/upload", "POST /api/mobile/streaks/check-in"


class Refused(Exception):
    """A final refusal, or no answer for too long."""


class Person:
    def __init__(self, number):
        self.number, self.name = number, f"person.{number}"
        self.email = f"{self.name}@example.com"
        self.token = self.streak = ""

    @property
    def friend(self):
        """Pairs are neighbours."""
        return self.number ^ 1


class Try:
    """One request as the client saw it: when it began and ended (monotonic seconds), and whether it was answered with success."""

    def __init__(self, endpoint, began, ended, succeeded, said):
        self.endpoint, self.began, self.ended, self.succeeded, self.said = endpoint, began, ended, succeeded, said


class API:
    """The public API through the load balancer, a connection for each request. `trust` is whose certificates are right."""

    def __init__(self, host, port, trust):
        self.host, self.port, self.trust = host, port, trust
        self.closed = threading.Event()

    def send(self, method, path, token=None, body=None, key=None, kind="application/json", timeout=TIMEOUT):
        """- Returns: status and body. Raises OSError or HTTPException without an answer in time."""
        headers = {"Connection": "close"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if key:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = kind
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.trust)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def insist(self, method, path, token=None, body=None, key=None, note=None, limit=LIMIT, **more):
        """Repeats a request, the same, until it is answered with success. `note` gets each try. - Returns: the reply as JSON."""
        started, retries, last = time.monotonic(), 0, "nothing"
        while time.monotonic() < started + limit:
            if self.closed.is_set():
                raise Refused("the run was ended")
            began, final = time.monotonic(), False
            try:
                status, reply = self.send(method, path, token, body, key, **more)
                succeeded, last = status < 300, f"{status} {reply[:300].decode(errors='replace')}"
                if not succeeded:
                    final = status < 500 and status != 429 and b"REQUEST_IN_PROGRESS" not in reply
            except (OSError, http.client.HTTPException) as error:
                succeeded, last = False, f"{type(error).__name__} {error}"
            if note:
                note(Try(note.endpoint, began, time.monotonic(), succeeded, last))
            if succeeded:
                return json.loads(reply) if reply else {}
            if final:
                raise Refused(f"{method} {path} was refused: {last}")
            retries += 1
            self.closed.wait(min(0.05 * retries, 0.4))
        raise Refused(f"{method} {path} got no answer within {limit} s, last {last}")


def each(items, body, at_once=8):
    """- Returns: the results in the order of `items`; raises the first error."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(body, items))


class Note:
    """Adds tries of one endpoint to a list."""

    def __init__(self, endpoint, tries):
        self.endpoint, self.tries = endpoint, tries

    def __call__(self, one):
        self.tries.append(one)


class Crowd:
    """Pairs of friends. Each posts a photo and checks in once in a round, and a round is a date of the development clock."""

    def __init__(self, api, pairs, photos):
        self.api, self.photos = api, photos
        self.people = [Person(number) for number in range(pairs * 2)]
        self.dates = []
        # Snap by round and person; check-ins as pairs of both.
        self.snaps, self.check_ins = {}, set()
        self.violations, self.tries, self.waits = [], [], {}
        self.lock = threading.Lock()
        self.noon = None

    @property
    def rounds(self):
        return len(self.dates)

    def gather(self):
        """Registers all, and makes them friends."""

        def register(person):
            body = {"email": person.email, "password": PASSWORD, "username": person.name, "display_name": person.name, "time_zone": "UTC"}
            session = self.api.insist("POST", "/api/auth/register", body=body, key=f"register-{person.name}")["data"]
            person.token = session["access_token"]
            self.api.insist("POST", "/api/users/me/terms", person.token, {"version": "2026-01"})

        def befriend(one):
            other = self.people[one.friend]
            asked = self.api.insist("POST", "/api/friends/request", one.token, {"username": other.name})["data"]
            path = f"/api/friends/{asked['friendship_id']}/respond"
            accepted = self.api.insist("PUT", path, other.token, {"action": "accept"})["data"]
            one.streak = other.streak = accepted["streak"]["streak_id"]

        each(self.people, register)
        each(self.people[::2], befriend)

    def begin_date(self):
        """Moves the clock to the next noon, and signs all in again: access tokens age with it."""
        now = self.api.insist("GET", "/api/dev/clock")["data"]["now"]
        if self.noon is None:
            self.noon = datetime.datetime.fromisoformat(now[:10] + "T12:00:00+00:00")
        self.noon += datetime.timedelta(days=1)
        self.api.insist("POST", "/api/dev/clock", body={"set": self.noon.strftime("%Y-%m-%dT%H:%M:%SZ")}, timeout=140)
        self.noon_began = time.monotonic()
        self.dates.append(self.noon.date().isoformat())
        if self.people[0].token:
            each(self.people, self.sign_in)

    def sign_in(self, person):
        session = self.api.insist("POST", "/api/auth/login", body={"email": person.email, "password": PASSWORD})["data"]
        person.token = session["access_token"]

    # A round

    def begin(self, seconds):
        """Starts the round's load: its writes are spread over so many seconds, and reads go on until `end`."""
        self.tries, self.waits, self.is_over = [], {}, threading.Event()
        writes = [(action, person) for person in self.people for action in (self.post, self.check_in)]
        random.Random(self.rounds).shuffle(writes)
        self.pool = concurrent.futures.ThreadPoolExecutor(len(writes) + len(self.reads))
        began, number = time.monotonic(), self.rounds
        self.pending = [
            self.pool.submit(self.write, action, person, number, began + seconds * index / len(writes))
            for index, (action, person) in enumerate(writes)
        ]
        self.reading = [self.pool.submit(self.read, path, shown) for path, shown in self.reads.items()]

    @property
    def is_busy(self):
        return not all(one.done() for one in self.pending)

    def end(self):
        self.is_over.set()
        self.pool.shutdown(wait=True)
        for one in self.reading:
            one.result()

    # A read of each service, and what the table calls it.
    reads = {
        "/api/users/me": "GET /api/users/me (auth)",
        "/api/friends": "GET /api/friends (social)",
        "/api/streaks": "GET /api/streaks (streaks)",
        "/api/photos/feed": "GET /api/photos/feed (media, streaks)",
        "/api/notifications": "GET /api/notifications (notifications)",
        "/api/billing/entitlements": "GET /api/billing/entitlements (billing)",
    }

    def read(self, path, shown):
        turn = 0
        while not self.is_over.is_set() and not self.api.closed.is_set():
            person, began = self.people[turn % len(self.people)], time.monotonic()
            turn += 1
            try:
                status, reply = self.api.send("GET", path, person.token, timeout=READ_TIMEOUT)
                succeeded, said = status < 300, f"{status} {reply[:200].decode(errors='replace')}"
            except (OSError, http.client.HTTPException) as error:
                succeeded, said = False, type(error).__name__
            self.tries.append(Try(shown, began, time.monotonic(), succeeded, said))
            self.is_over.wait(max(0, began + READ_INTERVAL - time.monotonic()))

    def write(self, action, person, number, due):
        if self.api.closed.wait(max(0, due - time.monotonic())):
            return
        began = time.monotonic()
        try:
            endpoint = action(person, number)
            with self.lock:
                self.waits[endpoint] = max(self.waits.get(endpoint, 0), time.monotonic() - began)
        except Exception as error:
            with self.lock:
                self.violations.append(f"round {number}, {person.name}: {type(error).__name__} {error}")

    def post(self, person, number):
        photo = self.photos[(number + person.number) % len(self.photos)]
        # A comment of its own makes each photo another file.
        comment = f"{person.name}, round {number}".encode()
        photo = photo[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + photo[2:]
        boundary = uuid.uuid4().hex
        body = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="streak_ids"\r\n\r\n{person.streak}\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="photo"; filename="photo.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
        ).encode() + photo + f"\r\n--{boundary}--\r\n".encode()
        reply = self.api.insist(
            "POST", "/api/photos/upload", person.token, body, f"round-{number}", Note(UPLOAD, self.tries),
            kind=f"multipart/form-data; boundary={boundary}")["data"]
        with self.lock:
            self.snaps[number, person.number] = reply["snap"]["id"]
            if [one["accepted"] for one in reply["streaks"]] != [True]:
                self.violations.append(f"round {number}, {person.name}: snap {reply['snap']['id']} was accepted by no streak")
        return UPLOAD

    def check_in(self, person, number):
        at = self.noon + datetime.timedelta(seconds=int(time.monotonic() - self.noon_began))
        body = {"mood_score": 8, "energy_level": 7, "check_in_time": at.strftime("%Y-%m-%dT%H:%M:%SZ")}
        reply = self.api.insist(
            "POST", "/api/mobile/streaks/check-in", person.token, body, f"check-in-{number}", Note(CHECK_IN, self.tries))["data"]
        with self.lock:
            self.check_ins.add((number, person.number))
            counted = reply["streak"]["current_streak"]
            if counted != number:
                self.violations.append(f"round {number}, {person.name}: the check-in was answered with a streak of {counted}")
        return CHECK_IN

    # What must be true after it

    def wrong(self):
        """What the API shows that is not as it was acknowledged. Events may need a moment."""
        return [found for person in each(self.people, self.wrong_of) for found in person]

    def wrong_of(self, person):
        found, rounds = [], self.rounds

        def expect(what, is_so, meant):
            if is_so != meant:
                found.append(f"{person.name}: {what} {is_so}, not {meant}")

        def get(path):
            return self.api.insist("GET", path, person.token, limit=30)["data"]

        def snap(of):
            return (of or {}).get("id")

        mine, theirs = self.snaps.get((rounds, person.number)), self.snaps.get((rounds, person.friend))
        detail = get(f"/api/streaks/{person.streak}")
        expect("the streak counts", detail["streak"]["current_count"], rounds)
        expect("the streak has photos", detail["photo_count"], rounds * 2)
        expect("the streak shows", [snap(detail.get("your_snap")), snap(detail.get("friend_snap"))], [mine, theirs])
        status = get("/api/mobile/streaks/status")
        expect("the check-in streak counts", status["current_streak"], rounds)
        expect("the check-in of the date is there:", status["checked_in_today"], True)
        told = get("/api/notifications?type=friend_posted&limit=100")["notifications"]
        expect("notifications of the friend's photos:", len(told), rounds)
        return found

    def wrong_in_history(self):
        """Every acknowledged snap and check-in is in the history of its date, once."""

        def look(person):
            found, days = [], []
            cursor = ""
            while True:
                page = self.api.insist("GET", f"/api/photos/history/{person.streak}?limit=100{cursor}", person.token, limit=30)
                days += page["data"]["days"]
                following = (page.get("meta") or {}).get("next_cursor")
                if not following:
                    break
                cursor = f"&cursor={following}"
            shown = [(day["date"], (day.get("your_snap") or {}).get("id"), (day.get("friend_snap") or {}).get("id")) for day in days]
            meant = [
                (self.dates[number - 1], self.snaps.get((number, person.number)), self.snaps.get((number, person.friend)))
                for number in range(self.rounds, 0, -1)
            ]
            if shown != meant:
                found.append(f"{person.name}: the history shows {shown}, not {meant}")
            path = f"/api/mobile/streaks/history?days={self.rounds}"
            history = self.api.insist("GET", path, person.token, limit=30)["data"]["history"]
            dates = sorted(day["date"] for day in history if day.get("checked_in"))
            meant = [date for number, date in enumerate(self.dates, 1) if (number, person.number) in self.check_ins]
            if dates != meant:
                found.append(f"{person.name}: checked in on {dates}, not {meant}")
            return found

        return [found for person in each(self.people, look) for found in person]


def measured(tries, waits):
    """For each endpoint what failed and for how long.

    - Returns: rows of endpoint, tries, failed, seconds from the first failure to the last, the longest time without a success among failures,
      and how long the unluckiest user waited for the acknowledgement (None for reads, which are not repeated).
    """
    rows = []
    for endpoint in list(Crowd.reads.values()) + [UPLOAD, CHECK_IN]:
        own = sorted((one for one in tries if one.endpoint == endpoint), key=lambda one: one.ended)
        failed = [one for one in own if not one.succeeded]
        span = max(one.ended for one in failed) - min(one.began for one in failed) if failed else 0
        # From the beginning of the first failure after a success to the end of the next success, or of the last try.
        gap, since = 0, None
        for one in own:
            if not one.succeeded:
                since = one.began if since is None else min(since, one.began)
            if since is not None:
                gap = max(gap, one.ended - since)
            if one.succeeded:
                since = None
        rows.append((endpoint, len(own), len(failed), span, gap, waits.get(endpoint)))
    return rows

"""deploy/dev chaos --cluster: three hosts in network namespaces lose each other while pairs of friends post.

    host1  broker, PostgreSQL (primary)    auth, streaks, media, billing
    host2  broker, PostgreSQL (standby)    auth, social, media, notifications, gateway
    host3  broker, `streaksnap streams`    social, streaks, notifications, billing, gateway
    client HAProxy before the two gateways, and the load (chaos_load.py)

Everything there runs from the files that an installation copies (deploy/cluster, deploy/systemd, make-secrets, install-settings), with
TLS: /etc of a host is a folder of the run. One folder of photos and token keys stands for the bucket, or shared disk, that an installation
has outside of its hosts. A virtual switch joins them. Runs as root; what it started, and its namespaces, are gone when it ends. What it
shows and how to read it: docs/cluster.md.
"""
import argparse, contextlib, ctypes, http.client, os, pathlib, re, shutil, signal, socket, ssl, subprocess, sys, tempfile, time

import chaos_load

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
POSTGRES = os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin")
ADDRESSES = {"host1": "10.77.0.1", "host2": "10.77.0.2", "host3": "10.77.0.3", "client": "10.77.0.9"}
HOSTS = ["host1", "host2", "host3"]
# Each service on two of three, so that every host may go.
REPLICAS = {
    "host1": ["auth", "streaks", "media", "billing"],
    "host2": ["auth", "social", "media", "notifications", "gateway"],
    "host3": ["social", "streaks", "notifications", "billing", "gateway", "streams"],
}
SERVICES = ["auth", "social", "streaks", "media", "notifications", "billing"]
BLOB_USERS = ["auth", "streaks", "media", "gateway"]
# Those that install-settings gives them.
ADMIN_PORTS = {name: 9100 + number for number, name in enumerate(["streams", *SERVICES, "gateway"])}
PUBLIC_PORT = 443
AS_POSTGRES = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"]
# What an operator, or the tool that stands in for one (Patroni), needs to see that a database is gone, in seconds.
NOTICE = 3
# A host that is started again, or a system that heals, must be whole within this.
WHOLE = 120


class Failure(Exception):
    """The run cannot go on."""


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def run(*arguments, check=True, timeout=30, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=timeout, **more)
    if check and done.returncode != 0:
        raise Failure(f"{' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done


class Network:
    """Namespaces host1 to host3 and client, each with a cable to a switch in a namespace of its own."""

    prefix = "streaksnap-chaos-"

    def __init__(self):
        self.remove_leftovers()
        self.own = f"{self.prefix}{os.getpid()}-"
        self.names = []

    def name(self, host):
        return self.own + host

    def make(self):
        for host in ["switch", *ADDRESSES]:
            # Noted before it is made: an interrupt in between must leave nothing.
            self.names.append(self.name(host))
            run("ip", "netns", "add", self.name(host))
            run("ip", "-n", self.name(host), "link", "set", "lo", "up")
        switch = self.name("switch")
        run("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
        run("ip", "-n", switch, "link", "set", "switch", "up")
        for host, address in ADDRESSES.items():
            run("ip", "-n", switch, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", self.name(host))
            run("ip", "-n", switch, "link", "set", host, "master", "switch", "up")
            run("ip", "-n", self.name(host), "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", self.name(host), "link", "set", "eth0", "up")

    def enter(self, host):
        """This process, and threads it starts later, are at that host from now on."""
        with open(f"/run/netns/{self.name(host)}") as namespace:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(namespace.fileno(), 0x40000000) != 0:
                raise Failure(f"the namespace of {host} cannot be entered: {os.strerror(ctypes.get_errno())}")

    def plug(self, host, is_in):
        """The cable at the switch: nobody is told that it is out."""
        run("ip", "-n", self.name("switch"), "link", "set", host, "up" if is_in else "down")

    def part(self, one, other):
        """Packets between the two get lost, silently: each sends them to a hardware address that nobody has."""
        for here, there in [(one, other), (other, one)]:
            run("ip", "-n", self.name(here), "neigh", "replace", ADDRESSES[there], "lladdr", "02:00:00:00:00:77", "dev", "eth0",
                "nud", "permanent")

    def join(self, one, other):
        for here, there in [(one, other), (other, one)]:
            run("ip", "-n", self.name(here), "neigh", "del", ADDRESSES[there], "dev", "eth0", check=False)

    @staticmethod
    def kill(name):
        """Everything that runs in a namespace, but for this process."""
        found = [int(pid) for pid in run("ip", "netns", "pids", name, check=False).stdout.split() if int(pid) != os.getpid()]
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(found)

    @classmethod
    def remove(cls, names):
        for name in names:
            deadline = time.monotonic() + 10
            while cls.kill(name) and time.monotonic() < deadline:
                time.sleep(0.05)
        for name in names:
            run("ip", "netns", "del", name, check=False)

    @classmethod
    def remove_leftovers(cls):
        """Those of a run that was killed itself."""
        for line in run("ip", "netns", "list").stdout.splitlines():
            name = line.split()[0]
            found = re.fullmatch(cls.prefix + r"(\d+)-\w+", name)
            if found and not os.path.exists(f"/proc/{found[1]}"):
                cls.remove([name])


class Process:
    """One program at one host; `is_wanted` is whether it is started again when it ends, as systemd does."""

    def __init__(self, cluster, name, host, command, environment=None, user=None):
        self.cluster, self.name, self.host = cluster, name, host
        who = ["--reuid", user, "--regid", user, "--clear-groups"] if user else []
        # The names of the hosts are there as in /etc/hosts of each; and it ends with us, whatever happens to us.
        self.command = [
            "nsenter", f"--net=/run/netns/{cluster.network.name(host)}", "unshare", "--mount", "sh", "-c",
            'mount --bind "$0" /etc/hosts && exec "$@"', str(cluster.folder / "hosts"),
            "setpriv", *who, "--pdeathsig", "KILL", "--", *map(str, command)]
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"} | (environment or {})
        self.log = cluster.folder / "logs" / f"{name}-{host}.log"
        self.child, self.is_wanted, self.ended_at, self.started_at, self.quick_ends = None, False, None, 0, 0

    def start(self):
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.is_wanted, self.ended_at, self.started_at = True, None, time.monotonic()

    @property
    def runs(self):
        return self.child is not None and self.child.poll() is None

    def look(self):
        """Starts it again, a second after it ended."""
        if not self.is_wanted or self.runs:
            return
        if self.child.returncode == 64:
            raise Failure(f"{self.name} at {self.host} cannot use its settings:\n{self.tail()}")
        if self.ended_at is None:
            self.ended_at = time.monotonic()
            say(f"{self.name} at {self.host} ended by itself with {self.child.returncode}")
            self.cluster.ends += 1
            self.quick_ends = self.quick_ends + 1 if self.ended_at < self.started_at + 2 else 0
            if self.quick_ends == 10:
                raise Failure(f"{self.name} at {self.host} ends each time within two seconds:\n{self.tail()}")
        elif time.monotonic() > self.ended_at + 1:
            self.start()

    def stop(self, number=signal.SIGTERM, limit=45):
        """Ends it in order. - Returns: the seconds that it took."""
        self.is_wanted, began = False, time.monotonic()
        if not self.runs:
            return 0
        self.child.send_signal(number)
        with contextlib.suppress(Failure):
            self.cluster.until(lambda: not self.runs, limit, f"the end of {self.name} at {self.host}")
            return time.monotonic() - began
        self.child.kill()
        self.child.wait(10)
        raise Failure(f"{self.name} at {self.host} did not end within {limit} s of signal {number}")

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])


class Postgres:
    """A primary and a standby that confirms each commit; what an operator does with them, by deploy/cluster/database."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.primary, self.standby = "host1", "host2"
        self.servers = {host: self.server(host) for host in [self.primary, self.standby]}

    def folder(self, host):
        return self.cluster.folder / host / "postgresql"

    def server(self, host):
        folder = self.folder(host)
        self.cluster.place("cluster/postgresql.conf", host, "postgresql/postgresql.conf")
        self.cluster.place("cluster/pg_hba.conf", host, "postgresql/pg_hba.conf")
        (folder / "pg_ident.conf").touch()
        shutil.copytree(folder.parent / "tls", folder / "tls")
        for path in [folder, folder / "tls", folder / "tls/host.key"]:
            shutil.chown(path, "postgres", "postgres")
        settings = {
            "config_file": folder / "postgresql.conf", "hba_file": folder / "pg_hba.conf", "ident_file": folder / "pg_ident.conf",
            "unix_socket_directories": folder, "log_error_verbosity": "terse",
        }
        command = [f"{POSTGRES}/postgres", "-D", folder / "cluster"]
        command += [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        return Process(self.cluster, "postgres", host, command, user="postgres")

    def make(self):
        run(*AS_POSTGRES, f"{POSTGRES}/initdb", "-D", self.folder(self.primary) / "cluster", "--auth=peer", "--encoding=UTF8",
            "--locale=C.UTF-8", "--data-checksums", timeout=120)
        self.servers[self.primary].start()
        self.wait(self.primary)
        for file in ["postgres/roles.sql", "cluster/replicator.sql"]:
            text = (REPOSITORY / "deploy" / file).read_text()
            self.psql(database="postgres", environment=self.cluster.passwords("postgres"), input=text)
        self.follow(self.standby)

    def psql(self, *arguments, host=None, database="streaksnap", environment=None, timeout=30, input=None):
        environment = {"PATH": "/usr/bin:/bin"} | (environment or {})
        return run(*AS_POSTGRES, f"{POSTGRES}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.folder(host or self.primary),
            "-d", database, *arguments, env=environment, timeout=timeout, input=input).stdout

    def ask(self, statement, host=None):
        """- Returns: the lines of the answer."""
        return self.psql("-c", statement, host=host).splitlines()

    def wait(self, host):
        def answers():
            with contextlib.suppress(Failure, subprocess.TimeoutExpired):
                return self.psql("-c", "SELECT 1", host=host, database="postgres", timeout=5) != ""

        self.cluster.until(answers, WHOLE, f"PostgreSQL at {host}")

    def operate(self, host, *words):
        """What an operator calls at the host; until it has ended, well."""
        folder = self.folder(host)
        password = self.cluster.passwords("postgres")["POSTGRES_PASSWORD_REPLICATOR"]
        password_file = folder / "pgpass"
        password_file.write_text(f"*:*:*:replicator:{password}\n")
        password_file.chmod(0o600)
        shutil.chown(password_file, "postgres", "postgres")
        work = Process(self.cluster, f"database-{words[0]}", host, [self.cluster.folder / "database", *words], {
            "PATH": f"{POSTGRES}:/usr/bin:/bin", "PGHOST": folder, "PGDATA": folder / "cluster", "PGPASSFILE": password_file,
            "PGSSLROOTCERT": folder / "tls/ca.pem"}, user="postgres")
        work.start()
        work.is_wanted = False
        self.cluster.until(lambda: not work.runs, WHOLE + 10, f"database {' '.join(words)} at {host}")
        if work.child.returncode != 0:
            raise Failure(f"database {' '.join(words)} at {host} failed:\n{work.tail()}")

    def follow(self, host):
        """Makes the host a standby of the primary, from nothing, and has commits wait for it."""
        self.standby = host
        self.operate(host, "standby", self.primary, host)
        self.servers[host].start()
        self.wait(host)
        self.require(host)

    def require(self, host):
        """Commits wait for the standby again, as soon as it has caught up."""
        self.operate(self.primary, "require", host)

    def lost(self, host):
        """What the operator does when a host is gone."""
        if host not in self.servers:
            return None
        self.cluster.pause(NOTICE)
        return self.promote() if host == self.primary else self.go_on_alone()

    def promote(self):
        """The standby becomes the primary. The old one must be dead: it is fenced by the loss of its host."""
        self.operate(self.standby, "promote")
        self.primary, self.standby = self.standby, self.primary
        return f"standby at {self.primary} promoted"

    def go_on_alone(self):
        self.operate(self.primary, "alone")
        return f"primary at {self.primary} set to go on without {self.standby}"


class Cluster:
    def __init__(self, folder, binaries, broker):
        self.folder, self.binaries, self.broker = folder, binaries, broker
        for name in ["logs", "blobs", "token-keys", "mail"]:
            (folder / name).mkdir()
        self.ends = 0
        self.processes = []
        self.network = Network()
        self.brokers, self.replicas = {}, {}

    # Installing

    def install(self):
        """What is done at each host before anything is started, as docs/three-hosts.md says: /etc of a host is the folder of its name."""
        deploy = REPOSITORY / "deploy"
        names = "".join(f"{address} {host}\n" for host, address in ADDRESSES.items())
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        run(deploy / "cluster/certificates", self.folder / "tls", *[f"{host}={address}" for host, address in ADDRESSES.items()])
        authority = self.folder / "tls/ca.pem"
        database = (deploy / "cluster/database.conninfo").read_text().strip().replace("/etc/streaksnap/ca.pem", str(authority))
        run(deploy / "make-secrets", self.folder / "secrets", database)
        shutil.copy(deploy / "cluster/database", self.folder)
        for host in ADDRESSES:
            tls = self.folder / host / "tls"
            tls.mkdir(parents=True)
            for source, target in [(f"{host}.pem", "host.pem"), (f"{host}.key", "host.key"), ("ca.pem", "ca.pem")]:
                shutil.copy(self.folder / "tls" / source, tls / target)
        for host in HOSTS:
            self.place("cluster/common.env", host, "streaksnap/common.env")
            shutil.copy(authority, self.folder / host / "streaksnap")
            run(deploy / "install-settings", self.folder / "secrets", *REPLICAS[host],
                env=os.environ | {"STREAKSNAP_ETC": str(self.folder / host / "streaksnap")})

    def place(self, source, host, target, *changes):
        """Copies a file of deploy to /etc of a host, with what must be otherwise here. - Returns: the path."""
        text = (REPOSITORY / "deploy" / source).read_text()
        for old, new in changes:
            if text.count(old) != 1:
                raise Failure(f"deploy/{source} has no “{old}”")
            text = text.replace(old, new)
        file = self.folder / host / target
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace("/etc/", f"{self.folder}/{host}/"))
        return file

    def passwords(self, what):
        """Those that brokers or roles.sql read from their environment."""
        return dict(line.split("=", 1) for line in (self.folder / f"secrets/{what}-passwords.env").read_text().splitlines())

    # Starting

    def start(self):
        self.install()
        self.network.make()
        # From here psql and the requests come from the client's host. The threads of the load follow.
        self.network.enter("client")
        for host in HOSTS:
            self.brokers[host] = self.add(
                Process(self, "nats", host, [self.broker, "-c", self.broker_configuration(host), "--name", host], self.passwords("nats")))
            self.brokers[host].start()
        self.postgres = Postgres(self)
        self.processes += self.postgres.servers.values()
        self.postgres.make()
        for host in HOSTS:
            self.until(lambda: self.broker_is_well(host), WHOLE, f"JetStream at {host}")
        self.replicas = {(name, host): self.add(self.replica(name, host)) for host in HOSTS for name in REPLICAS[host]}
        for process in self.replicas.values():
            process.start()
        self.balancer = self.add(Process(self, "haproxy", "client", ["haproxy", "-db", "-f", self.balancer_configuration()]))
        self.balancer.start()
        self.wait_until_whole()

    def add(self, process):
        self.processes.append(process)
        return process

    def broker_configuration(self, host):
        shutil.copytree(self.folder / host / "tls", self.folder / host / "nats/tls")
        self.place("nats/nats.conf", host, "nats/nats.conf", ("/data/jetstream", f"{self.folder}/{host}/nats/jetstream"))
        # Asked for its state from another host.
        return self.place("cluster/nats-cluster.conf", host, "nats/nats-cluster.conf", ("127.0.0.1:8222", "0.0.0.0:8222"))

    def broker_is_well(self, host):
        return self.answers(host, 8222, "/healthz")

    @staticmethod
    def answers(host, port, path):
        connection = http.client.HTTPConnection(ADDRESSES[host], port, timeout=1)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def balancer_configuration(self):
        socket_change = ("/run/haproxy/admin.sock", f"{self.folder}/haproxy.socket")
        file = self.place("cluster/haproxy.cfg", "client", "haproxy/haproxy.cfg", socket_change)
        tls = self.folder / "client/tls"
        (file.parent / "streaksnap.pem").write_text((tls / "host.pem").read_text() + (tls / "host.key").read_text())
        return file

    def tell_balancer(self, command):
        """- Returns: what it answers; nothing while it does not run."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(f"{self.folder}/haproxy.socket")
            connection.sendall(f"{command}\n".encode())
            return connection.recv(4096).decode()
        return ""

    def replica(self, name, host):
        """A service with the settings of its unit, and those by which a test differs from an installation."""
        etc = self.folder / host / "streaksnap"
        is_streams = name == "streams"
        unit = (REPOSITORY / "deploy/systemd" / ("streaksnap-streams.service" if is_streams else "streaksnap@.service")).read_text()
        text = "\n".join(re.findall(r"^Environment=(.+)$", unit, re.M) + [(etc / f"{file}.env").read_text() for file in ["common", name]])
        # What systemd hands over.
        for folder in ["%d/secrets_", f"/run/credentials/streaksnap@{name}.service/secrets_"]:
            text = text.replace(folder, f"{etc}/secrets/{name}/")
        environment = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
        values = {"DEV_CLOCK": "true"}
        if name in SERVICES:
            values["MEDIA_PUBLIC_URL"] = f"https://{ADDRESSES['client']}"
        if name in BLOB_USERS:
            values |= {"BLOB_STORE": "local", "BLOB_FOLDER": self.folder / "blobs"}
        if name == "auth":
            values |= {
                "AUTH_KEY_FOLDER": self.folder / "token-keys", "AUTH_BCRYPT_COST": 4, "AUTH_ADDRESS_REGISTRATIONS": 0,
                "AUTH_REGISTRATIONS": 0}
        if name == "notifications":
            values["NOTIFICATIONS_MAIL_FOLDER"] = self.folder / "mail"
        if name == "gateway":
            values |= {"HTTP_USER_RATE": 0, "HTTP_ADDRESS_RATE": 0, "HTTP_DRAIN_TIMEOUT": 1}
        command = [f"{self.binaries}/streaksnap", "streams", "--watch"] if is_streams else [f"{self.binaries}/{name}"]
        return Process(self, name, host, command, environment | {f"STREAKSNAP_{key}": str(value) for key, value in values.items()})

    # Waiting. Everything that waits also starts again what ended by itself.

    def pause(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for process in self.processes:
                process.look()
            time.sleep(min(0.05, max(0, deadline - time.monotonic())))

    def until(self, condition, limit, what):
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                raise Failure(f"{what}: not within {limit} s")
            self.pause(0.05)

    def is_ready(self, name, host):
        return self.answers(host, ADMIN_PORTS[name], "/readyz")

    def wait_until_whole(self):
        for host in HOSTS:
            self.until(lambda: self.broker_is_well(host), WHOLE, f"JetStream at {host}")
        for name, host in self.replicas:
            # No request needs `streams`; whether it says that it is ready is looked at in the end.
            if name != "streams":
                self.until(lambda: self.is_ready(name, host), WHOLE, f"{name} at {host}")
        self.until(lambda: self.tell_balancer("show servers state").count(" 2 0 ") == 2, WHOLE, "both gateways at the load balancer")

    def unready(self):
        return [f"{name} at {host} does not say that it is ready" for name, host in self.replicas if not self.is_ready(name, host)]

    # Faults. Each returns what was done, in words.

    def upgrade(self):
        """Replaces every replica, one after the other, as README.md says (Upgrade)."""
        longest = 0
        for (name, host), process in self.replicas.items():
            began = time.monotonic()
            if name == "gateway":
                self.tell_balancer(f"set server gateways/{host} state drain")
                self.pause(1)
            process.stop()
            process.start()
            self.until(lambda: self.is_ready(name, host), WHOLE, f"{name} at {host}")
            if name == "gateway":
                self.tell_balancer(f"set server gateways/{host} state ready")
                # The other one goes only when this one has been found well.
                self.pause(2)
            longest = max(longest, time.monotonic() - began)
        return f"{len(self.replicas)} replicas one after the other, each within {longest:.1f} s"

    def upgrade_brokers(self):
        longest = 0
        for host, process in self.brokers.items():
            began = time.monotonic()
            process.stop()
            process.start()
            self.until(lambda: self.broker_is_well(host), WHOLE, f"JetStream at {host}")
            longest = max(longest, time.monotonic() - began)
        return f"3 brokers one after the other, each well again within {longest:.1f} s"

    def lose(self, host, seconds):
        """Cable out, then everything killed: nobody is told. It comes back after so many seconds."""
        here = [process for process in self.processes if process.host == host]
        for process in here:
            process.is_wanted = False
        self.network.plug(host, False)
        killed = Network.kill(self.network.name(host))
        for process in here:
            # Until then it is still there when asked for by its number, as `pg_ctl status` does.
            process.child.wait(30)
        began = time.monotonic()
        acted = self.postgres.lost(host)
        when = time.monotonic() - began
        self.pause(max(0, began + seconds - time.monotonic()))
        self.network.plug(host, True)
        away = time.monotonic() - began
        self.brokers[host].start()
        if host in self.postgres.servers:
            self.postgres.follow(host)
        for name in REPLICAS[host]:
            self.replicas[name, host].start()
        return f"{killed} processes gone for {away:.0f} s" + (f"; after {when:.1f} s {acted}" if acted else "")

    def part(self, one, other, seconds):
        """The two do not hear each other for so many seconds; the third and the client hear both."""
        self.network.part(one, other)
        began, acted = time.monotonic(), None
        if {one, other} == set(self.postgres.servers):
            # The primary lives and is reached: it must not be replaced.
            acted = self.postgres.lost(self.postgres.standby)
        when = time.monotonic() - began
        self.pause(max(0, began + seconds - time.monotonic()))
        self.network.join(one, other)
        if acted:
            self.postgres.require(self.postgres.standby)
        return f"for {seconds:.0f} s" + (f"; after {when:.1f} s {acted}" if acted else "")

    # What is left behind

    def left_behind(self, snaps):
        """What the tables have that is not as acknowledged, and what still waits."""
        found = []
        stored = self.postgres.ask("SELECT id FROM media.snap")
        found += [f"media.snap lacks the acknowledged snap {one}" for one in sorted(snaps - set(stored))]
        found += [f"media.snap has {one}, which no user was told of" for one in sorted(set(stored) - snaps)]
        counted = self.postgres.ask(
            "SELECT operation_id FROM streaks.contribution JOIN streaks.streak s ON s.id = streak_id AND s.kind = 1")
        if sorted(counted) != sorted(snaps):
            found.append(f"streaks.contribution counts {len(counted)} snaps ({len(set(counted))} different), acknowledged were {len(snaps)}")
        under_way = self.postgres.ask("SELECT count(*) FROM media.snap_operation WHERE state IN (0, 1)")
        if under_way != ["0"]:
            found.append(f"{under_way[0]} uploads are under way")
        for service in SERVICES:
            waiting = self.postgres.ask(
                f"SELECT (SELECT count(*) FROM {service}.outbox WHERE published_at IS NULL) + (SELECT count(*) FROM {service}.event_retry)")
            if waiting != ["0"]:
                found.append(f"{waiting[0]} events of or for {service} wait")
        return found

    def end(self):
        for process in self.processes:
            process.is_wanted = False
        with contextlib.suppress(AttributeError):
            if self.balancer.runs:
                self.balancer.child.kill()
        Network.remove(self.network.names)
        for process in self.processes:
            if process.child is not None:
                process.child.kill()
                process.child.wait(10)


# Names of faults, in the order in which they are played.
FAULTS = [
    "upgrade", "upgrade-brokers", "lose-host1", "lose-host2", "lose-host3", "part-host1-host2", "part-host1-host3", "part-host2-host3",
]


def play(cluster, name, seconds):
    """- Returns: what was done, in words."""
    if name == "upgrade":
        return cluster.upgrade()
    if name == "upgrade-brokers":
        return cluster.upgrade_brokers()
    what, *hosts = name.split("-")
    return cluster.lose(hosts[0], seconds * 0.6) if what == "lose" else cluster.part(*hosts, seconds * 0.6)


def settled(cluster, look, limit=90):
    """Looks until nothing is wrong. - Returns: what still is, in the end."""
    deadline = time.monotonic() + limit
    while True:
        found = look()
        if not found or time.monotonic() > deadline:
            return found
        cluster.pause(0.5)


def play_round(cluster, crowd, name, seconds):
    """A date of the clock with one fault under load; prints what failed, and notes what is wrong afterwards."""
    crowd.begin_date()
    say(f"{name}: {len(crowd.people) * 2} writes in {seconds} s")
    crowd.begin(seconds)
    try:
        cluster.pause(seconds * 0.1)
        began = time.monotonic()
        done = play(cluster, name, seconds)
        cluster.wait_until_whole()
        whole = time.monotonic() - began
        cluster.until(lambda: not crowd.is_busy, chaos_load.LIMIT + seconds, "the answers to all writes")
    finally:
        crowd.end()
    lines = [f"\n{name}: {done}; whole again after {whole:.0f} s"]
    for endpoint, tries, failed, span, gap, wait in chaos_load.measured(crowd.tries, crowd.waits):
        shown = "–" if wait is None else f"{wait:.1f}"
        lines.append(f"  {endpoint:<42}{tries:>7}{failed:>8}{span:>10.1f}{gap:>10.1f}{shown:>10}")
    said = {}
    for one in crowd.tries:
        if not one.succeeded:
            code = re.search(r'"code": ?"(\w+)"', one.said)
            cause = f"{one.said[:3]} {code[1]}" if code else one.said.splitlines()[0][:60] if one.said else "no answer"
            said[cause] = said.get(cause, 0) + 1
    if said:
        lines.append("  failed with: " + ", ".join(f"{cause} ({count})" for cause, count in sorted(said.items(), key=lambda one: -one[1])[:6]))
    for line in lines:
        print(line, flush=True)
    crowd.violations += [f"{name}: {one}" for one in settled(cluster, crowd.wrong)]
    crowd.violations += [f"{name}: {one}" for one in settled(cluster, lambda: cluster.left_behind(set(crowd.snaps.values())))]


def photos(cluster):
    found = []
    for seed in range(1, 13):
        file = cluster.folder / f"{seed}.jpg"
        run(f"{cluster.binaries}/streaksnap", "photo", file, "--seed", str(seed), "--width", "400", "--height", "300")
        found.append(file.read_bytes())
    return found


def play_all(cluster, faults, seconds, pairs):
    """- Returns: what was lost, or counted otherwise than it was acknowledged."""
    began = time.monotonic()
    cluster.start()
    say(f"three hosts are up after {time.monotonic() - began:.0f} s")
    trust = ssl.create_default_context(cafile=cluster.folder / "tls/ca.pem")
    crowd = chaos_load.Crowd(chaos_load.API(ADDRESSES["client"], PUBLIC_PORT, trust), pairs, photos(cluster))
    try:
        crowd.gather()
        print(f"\n{'':<44}{'tries':>7}{'failed':>8}{'failing':>10}{'longest':>10}{'longest':>10}\n"
            f"{'':<44}{'':>7}{'':>8}{'for (s)':>10}{'gap (s)':>10}{'wait (s)':>10}")
        for name in faults:
            play_round(cluster, crowd, name, seconds)
            if crowd.violations:
                break
        if not crowd.violations:
            crowd.violations += settled(cluster, crowd.wrong_in_history, 30)
            crowd.violations += settled(cluster, cluster.unready, 30)
    finally:
        crowd.api.closed.set()
    print(f"\n{len(crowd.snaps)} snaps and {len(crowd.check_ins)} check-ins were acknowledged to {len(crowd.people)} people on {crowd.rounds} dates; "
        f"{cluster.ends} processes ended by themselves.")
    return crowd.violations


def usable_broker():
    """nats.conf syncs each message before it is acknowledged, which 2.9 cannot, and replicated streams are dependable from 2.10 on."""
    installed = REPOSITORY / ".run/nats-server/bin/nats-server"
    path = os.environ.get("NATS_SERVER") or (str(installed) if installed.exists() else shutil.which("nats-server"))
    if not path:
        raise Failure("there is no nats-server: deploy/dev chaos --cluster installs one")
    version = re.search(r"v(\d+)\.(\d+)", run(path, "--version").stdout)
    if not version or (int(version[1]), int(version[2])) < (2, 10):
        raise Failure(f"{path} is older than 2.10; deploy/dev chaos --cluster installs a newer one, or name one by NATS_SERVER")
    return path


def arguments():
    parser = argparse.ArgumentParser(prog="deploy/dev chaos --cluster", allow_abbrev=False)
    parser.add_argument("--fault", nargs="+", action="extend", choices=FAULTS, metavar="NAME",
        help=f"some of {', '.join(FAULTS)}; all by default")
    parser.add_argument("--seconds", type=int, default=40, help="of load for each fault, 10 to 600 (40)")
    parser.add_argument("--pairs", type=int, default=20, help="of friends, 1 to 200 (20)")
    parser.add_argument("--binaries", type=pathlib.Path, required=True, help="folder of the executables; deploy/dev sets it")
    parser.add_argument("--check", action="store_true", help="only looks at the command line")
    given = parser.parse_args()
    given.fault = given.fault or FAULTS
    if not 10 <= given.seconds <= 600:
        parser.error("--seconds must be from 10 to 600")
    if not 1 <= given.pairs <= 200:
        parser.error("--pairs must be from 1 to 200")
    if os.geteuid() != 0:
        parser.error("it makes network namespaces: run it as root")
    return given


def give_up(number, _):
    raise KeyboardInterrupt if number != signal.SIGALRM else Failure("the run took longer than it may")


def main():
    given = arguments()
    if given.check:
        return
    for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGALRM]:
        signal.signal(number, give_up)
    signal.alarm(300 + len(given.fault) * (given.seconds + 300))
    # The user postgres must reach it.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="streaksnap-cluster-"))
    folder.chmod(0o755)
    cluster, status, problems = None, 1, []
    try:
        cluster = Cluster(folder, given.binaries.resolve(), usable_broker())
        problems = play_all(cluster, given.fault, given.seconds, given.pairs)
        status = 1 if problems else 0
    except (Failure, chaos_load.Refused, subprocess.TimeoutExpired) as error:
        problems = [str(error)]
    except KeyboardInterrupt:
        problems, status = ["ended before it was done"], 130
    finally:
        # A second Ctrl-C must not leave half of it behind.
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM]:
            signal.signal(number, signal.SIG_IGN)
        if cluster:
            cluster.end()
        if status != 0:
            kept = REPOSITORY / ".run/cluster-logs"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder / "logs", kept) if (folder / "logs").exists() else None
        shutil.rmtree(folder, ignore_errors=True)
    for problem in problems[:40]:
        print(f"WRONG: {problem}")
    print("nothing that was acknowledged is lost, or there twice" if status == 0 else "the logs are in .run/cluster-logs")
    sys.exit(status)


if __name__ == "__main__":
    main()

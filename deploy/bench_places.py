"""deploy/dev bench places [--posts N]: posts pinned to places, ten million of them unless N says otherwise.

They are written by SQL in the order of their times: in 400 cities, of which the largest has one in fifteen, one city of 5,000 far from the others,
and one post that everybody votes on. What triggers count for a post that is made one by one (tiles, cells and patches of the map) is made for all
at once. Their words are left out. Then it measures at 64 connections, unless a row says otherwise

  box       the first page of 50 of a box in the largest city, by score and newest; of a guest and of a user; and its eleventh page, by cursor
  clusters  GET /api/posts/clusters of the city of 5,000, at zooms 6 and 9, and of its middle at zoom 12 (8 connections); of the world and a continent
  vote      PUT …/vote of 200 users on 1,000 posts, and of 64 users, all on one. The counts are compared with the rows afterwards

and the memory of media. Before and after each row the reply is looked at, and wrk must have read as much for each request. At the end is a table
of what is wanted. Ten million take some 12 GB of disk and a quarter of an hour.
"""
import json, re, sys, time, urllib.error, urllib.request

from bench_check_ins import be_quiet, register, until
from bench_database import Session
from bench_http import milliseconds

CITIES = 400
AUTHORS = 20_000
VOTERS = 200
# Where the largest city is, and the one of 5,000 posts.
LARGEST, ALONE = (48.85, 2.35), (-40.0, -120.0)
HOT = "00000000-0000-7000-8000-000000000001"
# More posts than this make tiles of a map.
MOST_IN_CLUSTERS = 100_000

# PlaceKey of a position: the bits of longitude and latitude in turn, as a signed number.
KEY = """
CREATE FUNCTION pg_temp.spread(n bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    n := (n | (n << 16)) & 281470681808895;
    n := (n | (n << 8)) & 71777214294589695;
    n := (n | (n << 4)) & 1085102592571150095;
    n := (n | (n << 2)) & 3689348814741910323;
    RETURN (n | (n << 1)) & 6148914691236517205;
END $$;
CREATE FUNCTION pg_temp.key(latitude double precision, longitude double precision) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ((pg_temp.spread(floor((longitude + 180) / 360 * 4294967296)::bigint) << 1)
        | pg_temp.spread(floor((latitude + 90) / 180 * 4294967296)::bigint)) # (-9223372036854775808)::bigint
$$
"""
# How far from the middle of a city of a size, in degrees: most posts lie near it.
FAR = "sqrt(-2 * ln(1 - random())) * "
AUTHOR = f"('00000000-0000-7000-9000-' || lpad((1 + floor(random() * {AUTHORS}))::bigint::text, 12, '0'))::uuid"


def post_id(base, number):
    """Ids grow with time, as those of the services do."""
    return f"('00000000-0000-7000-{base}-' || lpad(to_hex({number}), 12, '0'))::uuid"


def insert(source):
    """- Parameter source: rows of id, user_id, latitude, longitude and age in seconds."""
    return f"""INSERT INTO place_post (id, user_id, state, sha256, caption, latitude, longitude, position_precision, place_key, captured_at,
            posted_at, width, height, up, down, score, is_named)
        SELECT id, user_id, 1, 'bench', 'A post of the benchmark', latitude, longitude, 'exact', pg_temp.key(latitude, longitude),
            now() - age * interval '1 second', now() - age * interval '1 second', 1080, 810, up, 0,
            log(greatest(1, up)::double precision) + extract(epoch FROM now() - age * interval '1 second') / 45000, true
        FROM (SELECT *, floor(power(random(), 6) * 500)::bigint AS up FROM ({source}) AS rows OFFSET 0) AS posts"""


def seed(session, count):
    """So many posts, their authors, and the city of 5,000."""
    session.ask(KEY)
    session.ask("SET maintenance_work_mem = '1GB'")
    session.ask("SET work_mem = '256MB'")
    session.ask(f"""INSERT INTO profile_replica (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status,
            terms_version)
        SELECT ('00000000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 1, 'author' || n, 'Author ' || n, '', 'UTC', now(), 1, '1'
        FROM generate_series(1, {AUTHORS}) AS n""")
    # Zipf's law: the first has one in fifteen, the last one in two thousand.
    session.ask(f"""CREATE TEMP TABLE city AS SELECT n, CASE n WHEN 1 THEN {LARGEST[0]} ELSE random() * 120 - 50 END AS latitude,
        CASE n WHEN 1 THEN {LARGEST[1]} ELSE random() * 270 - 95 END AS longitude,
        sum(1.0 / (n + 2)) OVER (ORDER BY n) / (SELECT sum(1.0 / (k + 2)) FROM generate_series(1, {CITIES}) AS k) AS upto
        FROM generate_series(1, {CITIES}) AS n""")
    # Indexes are built faster than they grow; triggers would be called for each post.
    indexes = session.ask("SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'place_post' "
                          "AND indexname <> 'place_post_pkey'")
    names = session.ask("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'place_post' "
                        "AND indexname <> 'place_post_pkey'")
    for name in names:
        session.ask(f"DROP INDEX {name}")
    session.ask("ALTER TABLE place_post DISABLE TRIGGER USER")
    # Each post in any of the cities, which are as large as they have posts, as they come in time: those of one city do not lie together on the disk.
    session.ask(insert(f"""
        SELECT {post_id('a000', 'n')} AS id, {AUTHOR} AS user_id, latitudes[city] + sizes[city] * far * cos(turn) AS latitude,
            longitudes[city] + sizes[city] * far * sin(turn) AS longitude, ({count} - n) * 31536000.0::double precision / {count} AS age
        FROM (SELECT n, latitudes, longitudes, sizes, 1 + width_bucket(random(), uptos) AS city, {FAR}1 AS far, random() * 2 * pi() AS turn
            FROM (SELECT array_agg(latitude ORDER BY n) AS latitudes, array_agg(longitude ORDER BY n) AS longitudes,
                array_agg(greatest(0.01, 0.06 / sqrt(n)) ORDER BY n) AS sizes,
                array_agg(upto::double precision ORDER BY n) FILTER (WHERE n < {CITIES}) AS uptos FROM city) AS cities,
                generate_series(1, {count}) AS n OFFSET 0) AS spots"""))
    session.ask(insert(f"""
        SELECT {post_id('b000', 'n')} AS id, {AUTHOR} AS user_id, {ALONE[0]} + far * cos(turn) AS latitude,
            {ALONE[1]} + far * sin(turn) AS longitude, random() * 31536000 AS age
        FROM (SELECT n, {FAR}0.06 AS far, random() * 2 * pi() AS turn FROM generate_series(1, 5000) AS n OFFSET 0) AS spots"""))
    session.ask(insert(f"SELECT '{HOT}'::uuid AS id, {AUTHOR} AS user_id, 0.0 AS latitude, 0.0 AS longitude, 0 AS age"))
    session.ask("ALTER TABLE place_post ENABLE TRIGGER USER")
    for definition in indexes:
        session.ask(definition)
    fill_tiles(session)
    fill_patches(session)
    for table in ("place_post", "place_tile", "place_cell", "place_patch", "profile_replica"):
        session.ask(f"VACUUM ANALYZE {table}")
    session.ask("CHECKPOINT")


def fill_tiles(session):
    """What the job makes of `place_tile_change`: `ClusterTile` and `TileSum`, the finest level of posts and each other of the next finer."""
    parts = ", ".join(f"sum(round({part} * 4294967296.0)::bigint)::bigint" for part in (
        "cos(radians(latitude)) * cos(radians(longitude))", "cos(radians(latitude)) * sin(radians(longitude))", "sin(radians(latitude))"))
    session.ask(f"""INSERT INTO place_tile (level, y, x, posts, sum_x, sum_y, sum_z)
        SELECT 12, least(4095, floor((latitude + 90) / 180 * 4096))::integer AS row_at, floor((longitude + 180) / 360 * 8192)::integer AS column_at,
            count(*), {parts} FROM place_post GROUP BY row_at, column_at""")
    for level in (10, 8, 6, 4, 2):
        session.ask(f"""INSERT INTO place_tile (level, y, x, posts, sum_x, sum_y, sum_z)
            SELECT {level}, y >> 2 AS row_at, x >> 2 AS column_at, sum(posts), sum(sum_x), sum(sum_y), sum(sum_z) FROM place_tile
            WHERE level = {level + 2} GROUP BY row_at, column_at""")


def fill_patches(session):
    """Calls what the trigger calls, once for each cell of the map. Committed often: what a patch was before is then forgotten."""
    session.ask("CREATE TEMP TABLE occupied (n bigint PRIMARY KEY, key bigint)")
    session.ask("""INSERT INTO occupied SELECT row_number() OVER (ORDER BY key), key
        FROM (SELECT min(place_key) AS key FROM place_post GROUP BY place_key >> 33) AS cells""")
    session.ask("""DO $$
        DECLARE done bigint := 0;
        BEGIN
            LOOP
                PERFORM place_occupy(key) FROM occupied WHERE n > done AND n <= done + 500;
                EXIT WHEN NOT FOUND;
                done := done + 500;
                COMMIT;
                -- The plans for an empty table read all of a large one.
                IF done IN (500, 5000, 50000) THEN
                    ANALYZE place_cell;
                    ANALYZE place_patch;
                END IF;
            END LOOP;
        END $$""")


def voting(system, tokens, posts, in_turn):
    """Each request is a vote of one of the users on one of the posts, up or down. `in_turn`: each user changes the vote when all others have."""
    with open(f"{system.folder}/voters", "w") as file:
        file.write("\n".join(tokens) + "\n")
    with open(f"{system.folder}/posts", "w") as file:
        file.write("\n".join(posts) + "\n")
    voter = "tokens[1 + count % #tokens]" if in_turn else "tokens[math.random(#tokens)]"
    up = "math.floor(count / #tokens) % 2 == 0" if in_turn else "math.random(2) == 1"
    path = f"{system.folder}/vote.lua"
    with open(path, "w") as file:
        file.write(f"""
            local tokens, posts, count = {{}}, {{}}, -1
            for token in io.lines("{system.folder}/voters") do tokens[#tokens + 1] = token end
            for post in io.lines("{system.folder}/posts") do posts[#posts + 1] = post end
            function request()
                count = count + 1
                local headers = {{["Authorization"] = "Bearer " .. {voter}, ["Content-Type"] = "application/json"}}
                local vote = {up} and "up" or "down"
                return wrk.format("PUT", "/api/posts/" .. posts[math.random(#posts)] .. "/vote", headers, '{{"vote":"' .. vote .. '"}}')
            end
        """)
    return path


def check_counts(system, session, post, before):
    """A post's votes as the API shows them are those of the rows. - Parameter before: its votes that were written by SQL."""
    up, down = (session.number(f"SELECT count(*) FROM place_vote WHERE post_id = '{post}' AND vote = {vote}") for vote in (1, -1))
    shown = system.call("GET", f"/api/posts/{post}", token=before["token"])["post"]
    if (int(shown["up"]), int(shown["down"])) != (before["up"] + up, down):
        sys.exit(f"{post} shows {shown['up']} up and {shown['down']} down; there are {before['up']} + {up} and {down}")


class Table:
    """Measures rows, and keeps what is wanted of them for the end."""

    def __init__(self, system, wrk, show):
        self.system, self.wrk, self.show, self.wanted = system, wrk, show, []

    def want(self, title, measured, limit, is_met):
        self.wanted.append((title, measured, limit, is_met))

    def row(self, title, result, least=None, most=None):
        """- Parameters: least: requests a second; most: milliseconds of p99."""
        self.show(title, result)
        if result["broken"]:
            sys.exit(f"{result['broken']} connections of {title} were broken or timed out")
        if least:
            self.want(title, f"{result['rate']:,.0f}/s", f"at least {least:,}/s", result["rate"] >= least)
        if most:
            self.want(title, f"p99 {result['p99']}", f"p99 below {most} ms", milliseconds(result["p99"]) < most)
        return result

    def get(self, title, path, token, check, connections=64, **limits):
        """A row of GET requests. - Parameter check: says what is wrong with the data of a reply; None when nothing is."""
        size = self.look(title, path, token, check)
        result = self.wrk(self.system, path, token, connections=connections)
        self.look(title, path, token, check)
        # wrk rounds what it has read.
        if result["bytes"] < 0.9 * size * result["requests"]:
            sys.exit(f"{title}: {result['bytes'] / result['requests']:.0f} bytes were read for each request; a reply has {size}")
        return self.row(title if connections == 64 else f"{title}, {connections} conn.", result, **limits)

    def look(self, title, path, token, check):
        request = urllib.request.Request(self.system.address + path, headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                text = reply.read()
                problem = f"status {reply.status}" if reply.status != 200 else check(json.loads(text)["data"])
        except urllib.error.HTTPError as error:
            problem = f"status {error.code}: {error.read(500).decode(errors='replace')}"
        if problem:
            sys.exit(f"{title}: {problem}")
        return len(text)

    def finish(self):
        width = max(len(row[0]) for row in self.wanted) + 2
        print(f"\n{'what is wanted':{width}}{'measured':>16}   {'limit':28}")
        for title, measured, limit, is_met in self.wanted:
            print(f"{title:{width}}{measured:>16}   {limit:28}{'met' if is_met else 'NOT MET'}")


def page_of(count):
    def check(data):
        posts = data["posts"]
        if len(posts) != count or len({post["id"] for post in posts}) != count:
            return f"a page of {len(posts)} posts, not of {count}"
    return check


def some_posts(data):
    if not data["posts"]:
        return "no posts"


def map_of(least, form=None):
    """That a map of this form, or of any, stands for so many posts at least."""
    def check(data):
        count = sum(int(cluster["count"]) for cluster in data["clusters"])
        if form not in (None, data["form"]) or count < least:
            return f"{data['form']} of {count} posts, not {form} of at least {least}"
    return check


def boxes(table, system, token, guest):
    box = f"/api/posts?bbox={LARGEST[1] - 0.05},{LARGEST[0] - 0.05},{LARGEST[1] + 0.05},{LARGEST[0] + 0.05}"
    table.get("box, a guest", box, guest, page_of(50), least=2_000, most=60)
    table.get("box, a user", box, token, page_of(50), least=2_000, most=60)
    table.get("box, newest", box + "&sort=newest", token, page_of(50))
    # The same posts must not come twice.
    path, seen = box, set()
    for number in range(10):
        page = system.call("GET", path, token=token)["posts"]
        if seen & {post["id"] for post in page}:
            sys.exit(f"page {number + 1} of the box has posts of a page before")
        seen |= {post["id"] for post in page}
        cursor = system.call("GET", path, token=token, part="meta").get("next_cursor")
        if not cursor:
            break
        path = f"{box}&cursor={cursor}"
    table.get("box, its 11th page" if cursor else "box, its last page", path, token, some_posts)
    table.get("3 km around a point", f"/api/posts?lat={ALONE[0] + 0.1}&lon={ALONE[1]}&radius=3000", token, some_posts)


def maps(table, token, total):
    def map_path(south, west, north, east, zoom):
        return f"/api/posts/clusters?bbox={west},{south},{east},{north}&zoom={zoom}"

    city = ALONE[0] - 0.4, ALONE[1] - 0.4, ALONE[0] + 0.4, ALONE[1] + 0.4
    # What a phone shows at zoom 12.
    middle = ALONE[0] - 0.07, ALONE[1] - 0.067, ALONE[0] + 0.07, ALONE[1] + 0.067
    for connections in (8, 64):
        for zoom in (6, 9):
            table.get(f"clusters of 5,000, zoom {zoom}", map_path(*city, zoom), token, map_of(4_500, "clusters"), connections, most=60)
    # 1.3 MB each: 64 at once wait for more than a second, which wrk counts as broken.
    table.get("its middle, zoom 12", map_path(*middle, 12), token, map_of(500, "clusters"), 8, most=60)
    form = "tiles" if total > MOST_IN_CLUSTERS else "clusters"
    table.get("the world, zoom 2", map_path(-85, -180, 85, 179.9, 2), token, map_of(total * 9 // 10, form))
    table.get("Europe, zoom 4", map_path(36, -10, 60, 30, 4), token, map_of(total // 20))


def votes(table, system, session, token, voters):
    posts = session.ask("SELECT id FROM place_post WHERE id BETWEEN '00000000-0000-7000-b000-000000000001' AND "
                        "'00000000-0000-7000-b000-0000000003e8'")
    known = {post: {"token": token, "up": session.number(f"SELECT up FROM place_post WHERE id = '{post}'")} for post in posts[:20] + [HOT]}
    many = table.row("vote on 1,000 posts", table.wrk(system, "", script=voting(system, voters, posts, False)), least=3_000)
    one = table.row("vote, 64 users on one post", table.wrk(system, "", script=voting(system, voters[:64], [HOT], True)))
    table.want("vote, 64 users on one post", f"p99 {one['p99']}", f"p99 at most twice {many['p99']}",
               milliseconds(one["p99"]) <= 2 * milliseconds(many["p99"]))
    for post, before in known.items():
        check_counts(system, session, post, before)
    rows = session.number("SELECT count(*) FROM place_vote_tally")
    cast = session.number("SELECT count(*) FROM place_vote")
    if cast < 64:
        sys.exit(f"only {cast} votes are stored")
    print(f"{cast:,} votes are stored; the counts of {len(known)} posts are those of the rows; {rows} rows were not folded yet")


def memory(system, name):
    """Megabytes of an executable now, and at most."""
    text = open(f"/proc/{system.processes()[name][0]}/status").read()
    return [int(re.search(rf"{key}:\s+(\d+)", text).group(1)) / 1024 for key in ("VmRSS", "VmHWM")]


def places(start, count, person, wrk, show):
    """- Parameters: start: a running system; person: registers a user; wrk, show: measure and print a row."""
    system = start()
    try:
        idle = memory(system, "media")[0]
        token, _ = person(system, "bench.me")
        guest = system.call("POST", "/api/auth/guest", {"device_id": "bench-of-places"})["access_token"]
        voters = register(system, VOTERS, name="voter")
        session = Session.of_system(system, "media")
        until("the voters are known to media",
              lambda: session.number("SELECT count(*) FROM profile_replica WHERE username LIKE 'bench.voter%'") == VOTERS)
        began = time.monotonic()
        seed(session, count)
        size = session.number("SELECT pg_total_relation_size('place_post')") / 1e9
        total = session.number("SELECT count(*) FROM place_post")
        print(f"{total:,} posts, {size:.1f} GB with their indexes, written in {time.monotonic() - began:.0f} s", flush=True)
        be_quiet(system)
        print(f"{'':34}{'requests/s':>11}{'p50':>10}{'p99':>10}{'CPU':>7}   of which")
        table = Table(system, wrk, show)
        boxes(table, system, token, guest)
        maps(table, token, total)
        votes(table, system, session, token, voters)
        now, most = memory(system, "media")
        print(f"media, resident MB: {idle:.1f} idle, {now:.1f} loaded, {most:.1f} at most")
        table.want("media, resident at most", f"{most:.0f} MB", "below 200 MB", most < 200)
        table.finish()
        session.close()
    finally:
        system.stop()

"""deploy/dev bench places [--posts N]: posts pinned to places, ten million of them unless N says otherwise.

They are written by SQL: in 400 cities, of which the largest has a twentieth of all, and one city of 5,000 far from the others. Then it measures at
64 connections

  box       the first page of 50 of a box in the largest city, by score and newest; of a guest and of a user
  vote      PUT …/vote of 200 users: on 1,000 posts, and all on one. The counts are compared with the rows afterwards
  clusters  GET /api/posts/clusters of the city of 5,000, at zooms 6, 9 and 12; left out while there is no such route

and the memory of media. Ten million take some 12 GB of disk and half an hour.
"""
import json, os, sys, time, urllib.error

from bench_check_ins import be_quiet, register, until
from bench_database import Session

CITIES = 400
AUTHORS = 20_000
VOTERS = 200
# Where the largest city is, and the one of 5,000 posts.
LARGEST, ALONE = (48.85, 2.35), (-40.0, -120.0)
HOT = "00000000-0000-7000-8000-000000000001"

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


def insert(source):
    """- Parameter source: rows of id, user_id, latitude, longitude and age in seconds."""
    return f"""INSERT INTO place_post (id, user_id, state, sha256, caption, latitude, longitude, position_precision, place_key, captured_at,
            posted_at, width, height, up, down, score)
        SELECT id, user_id, 1, 'bench', 'A post of the benchmark', latitude, longitude, 'exact', pg_temp.key(latitude, longitude),
            now() - age * interval '1 second', now() - age * interval '1 second', 1080, 810, up, 0,
            log(greatest(1, up)::double precision) + extract(epoch FROM now() - age * interval '1 second') / 45000
        FROM (SELECT *, floor(power(random(), 6) * 500)::bigint AS up FROM ({source}) AS rows) AS posts"""


def seed(session, count):
    """So many posts, their authors, and the city of 5,000."""
    session.ask(KEY)
    session.ask(f"""INSERT INTO profile_replica (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status,
            terms_version)
        SELECT ('00000000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 1, 'author' || n, 'Author ' || n, '', 'UTC', now(), 1, '1'
        FROM generate_series(1, {AUTHORS}) AS n""")
    author = f"('00000000-0000-7000-9000-' || lpad((1 + floor(random() * {AUTHORS}))::bigint::text, 12, '0'))::uuid"
    # Zipf's law: the first has a twentieth of all, the last a ten-thousandth or so.
    session.ask(f"""CREATE TEMP TABLE city AS SELECT n, CASE n WHEN 1 THEN {LARGEST[0]} ELSE random() * 120 - 50 END AS latitude,
        CASE n WHEN 1 THEN {LARGEST[1]} ELSE random() * 270 - 95 END AS longitude,
        sum(1.0 / (n + 2)) OVER (ORDER BY n) / (SELECT sum(1.0 / (k + 2)) FROM generate_series(1, {CITIES}) AS k) AS upto
        FROM generate_series(1, {CITIES}) AS n""")
    session.ask(f"""CREATE TEMP TABLE quota AS SELECT n, latitude, longitude,
        floor({count} * (upto - coalesce(lag(upto) OVER (ORDER BY n), 0)))::bigint AS posts FROM city""")
    # Most lie near the middle of their city.
    spot = "sqrt(-2 * ln(1 - random())) * 0.06"
    # Indexes are built faster than they grow.
    indexes = session.ask("SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'place_post' "
                          "AND indexname <> 'place_post_pkey'")
    names = session.ask("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'place_post' "
                        "AND indexname <> 'place_post_pkey'")
    for name in names:
        session.ask(f"DROP INDEX {name}")
    session.ask(insert(f"""SELECT gen_random_uuid() AS id, {author} AS user_id, latitude + {spot} * cos(turn) AS latitude,
            longitude + {spot} * sin(turn) AS longitude, random() * 31536000 AS age
        FROM (SELECT q.*, random() * 2 * pi() AS turn FROM quota q, LATERAL generate_series(1, q.posts)) AS spots"""))
    session.ask(insert(f"""SELECT gen_random_uuid() AS id, {author} AS user_id, {ALONE[0]} + random() * 0.5 AS latitude,
            {ALONE[1]} + random() * 0.5 AS longitude, random() * 31536000 AS age FROM generate_series(1, 5000)"""))
    session.ask(insert(f"SELECT '{HOT}'::uuid AS id, {author} AS user_id, 0.0 AS latitude, 0.0 AS longitude, 0 AS age"))
    for definition in indexes:
        session.ask(definition)
    session.ask("VACUUM ANALYZE place_post")
    session.ask("CHECKPOINT")


def voting(system, tokens, posts):
    """Each request is a vote of one of the users on one of the posts, up or down."""
    with open(f"{system.folder}/voters", "w") as file:
        file.write("\n".join(tokens) + "\n")
    with open(f"{system.folder}/posts", "w") as file:
        file.write("\n".join(posts) + "\n")
    path = f"{system.folder}/vote.lua"
    with open(path, "w") as file:
        file.write(f"""
            local tokens, posts = {{}}, {{}}
            for token in io.lines("{system.folder}/voters") do tokens[#tokens + 1] = token end
            for post in io.lines("{system.folder}/posts") do posts[#posts + 1] = post end
            function request()
                local headers = {{["Authorization"] = "Bearer " .. tokens[math.random(#tokens)], ["Content-Type"] = "application/json"}}
                local vote = math.random(2) == 1 and "up" or "down"
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


def has_clusters(system, path, token):
    try:
        system.call("GET", path, token=token)
        return True
    except urllib.error.HTTPError as error:
        if error.code in (400, 404):
            return False
        raise


def places(start, count, person, wrk, show):
    """- Parameters: start: a running system; person: registers a user; wrk, show: measure and print a row."""
    system = start()
    try:
        idle = system.memory()["media"][0] / 1024
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
        box = f"/api/posts?bbox={LARGEST[1] - 0.05},{LARGEST[0] - 0.05},{LARGEST[1] + 0.05},{LARGEST[0] + 0.05}"
        inside = len(system.call("GET", box, token=guest)["posts"])
        if inside != 50:
            sys.exit(f"the box has a first page of {inside}")
        show("box, a guest", wrk(system, box, guest))
        show("box, a user", wrk(system, box, token))
        show("box, newest", wrk(system, box + "&sort=newest", token))
        few = f"/api/posts?lat={ALONE[0] + 0.25}&lon={ALONE[1] + 0.25}&radius=3000"
        show("3 km around a point, some 100", wrk(system, few, token))
        clusters = "/api/posts/clusters?bbox={1},{0},{3},{2}".format(*ALONE, ALONE[0] + 0.5, ALONE[1] + 0.5)
        if has_clusters(system, f"{clusters}&zoom=9", token):
            for zoom in (6, 9, 12):
                show(f"clusters of 5,000, zoom {zoom}", wrk(system, f"{clusters}&zoom={zoom}", token))
        else:
            print("clusters: there is no such route")
        posts = session.ask("SELECT id FROM place_post WHERE latitude BETWEEN -40 AND -39.5 AND longitude BETWEEN -120 AND -119.5 LIMIT 1000")
        known = {post: {"token": token, "up": session.number(f"SELECT up FROM place_post WHERE id = '{post}'")} for post in posts[:20] + [HOT]}
        show("vote on 1,000 posts", wrk(system, "", script=voting(system, voters, posts)))
        show("vote, all on one post", wrk(system, "", script=voting(system, voters, [HOT])))
        for post, before in known.items():
            check_counts(system, session, post, before)
        rows = session.number("SELECT count(*) FROM place_vote_tally")
        print(f"the counts of {len(known)} posts are those of the rows; {rows} rows were not folded yet")
        print(f"media, resident MB: {idle:.1f} idle, {system.memory()['media'][0] / 1024:.1f} loaded")
        session.close()
    finally:
        system.stop()

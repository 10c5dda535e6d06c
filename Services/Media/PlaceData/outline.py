#!/usr/bin/env python3
"""Makes the outlines of countries that the gateway's /map shows, from the polygons of place-names.bin.

    outline.py place-names.bin ../../Gateway/Pages/Files/land.bin

Islands and lakes below SMALLEST are left out, and lines simplified to TOLERANCE: it is for a map as wide as the world or a country.
Format, numbers as varints (signed ones in zigzag), for the page's own reader:
    arcs, rings (how many of each)
    arc:  1 if two countries meet there and 0 at a coast, points, longitude and latitude in 1/100 degree: the first from 0, each other from
          the one before
    ring: arcs, each 2 * number + (1 if it is walked backwards)
"""
import math
import pathlib
import sys

import make

# In degrees: about 5 km.
TOLERANCE = 0.045
# In square degrees of the equator: about 250 km².
SMALLEST = 0.02


def reader(data):
    """Functions that read the next varint, signed varint and bytes."""
    place = 4

    def varint():
        nonlocal place
        number = shift = 0
        while True:
            byte = data[place]
            place += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def signed():
        number = varint()
        return -(number + 1) // 2 if number & 1 else number // 2

    def skip(count):
        nonlocal place
        place += count

    return varint, signed, skip


def polygons(data):
    """The arcs, and for each ring the numbers of its own."""
    assert data[:4] == b"PLN1"
    varint, signed, skip = reader(data)
    countries, arcs, rings, _ = (varint() for _ in range(4))
    for _ in range(countries):
        skip(2)
        skip(varint())
    lines = []
    for _ in range(arcs):
        x = y = 0
        line = []
        for _ in range(varint()):
            x, y = x + signed(), y + signed()
            line.append((x, y))
        lines.append(line)
    walks = []
    for _ in range(rings):
        varint()
        walks.append([varint() for _ in range(varint())])
    return lines, walks


def area(walk, lines):
    """Of a ring, in square degrees of the equator."""
    points = [point for number in walk for point in (lines[number >> 1][::-1] if number & 1 else lines[number >> 1])[:-1]]
    double = sum(x * y2 - x2 * y for (x, y), (x2, y2) in zip(points, points[1:] + points[:1]))
    middle = sum(y for _, y in points) / len(points) / make.UNIT
    return abs(double) / 2 / make.UNIT**2 * math.cos(math.radians(middle))


def main(source, output):
    lines, walks = polygons(pathlib.Path(source).read_bytes())
    walks = [walk for walk in walks if area(walk, lines) >= SMALLEST]
    used = sorted({number >> 1 for walk in walks for number in walk})
    places = {number: place for place, number in enumerate(used)}
    out = bytearray(make.varint(len(used)) + make.varint(len(walks)))
    points = 0
    for number in used:
        line = [(round(x * 100 / make.UNIT), round(y * 100 / make.UNIT)) for x, y in make.simplified(lines[number], TOLERANCE)]
        points += len(line)
        out += make.varint(int(sum(walk.count(2 * number) + walk.count(2 * number + 1) for walk in walks) > 1)) + make.varint(len(line))
        last = (0, 0)
        for point in line:
            out += make.signed(point[0] - last[0]) + make.signed(point[1] - last[1])
            last = point
    for walk in walks:
        out += make.varint(len(walk)) + b"".join(make.varint(2 * places[number >> 1] + (number & 1)) for number in walk)
    pathlib.Path(output).write_bytes(out)
    print(f"{len(used)} arcs, {points} points, {len(walks)} rings, {len(out)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])

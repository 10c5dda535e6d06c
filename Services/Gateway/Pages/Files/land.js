// The outlines of countries, in the map's own units: 0 to 1 from west to east and from north to south, by Mercator.

/// Where the map ends, in degrees from the equator.
export const limit = 85.05;

export function down(latitude) {
    const sine = Math.sin((Math.max(-limit, Math.min(limit, latitude)) * Math.PI) / 180);
    return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

export const latitude = (y) => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;

/// Reads `land.bin`. Services/Media/PlaceData/outline.py makes it and says what it holds.
export async function load() {
    const bytes = new Uint8Array(await (await fetch("/pages/land.bin")).arrayBuffer());
    let place = 0;
    const number = () => {
        let [sum, scale] = [0, 1];
        for (;;) {
            const byte = bytes[place++];
            sum += (byte & 127) * scale;
            if (byte < 128) return sum;
            scale *= 128;
        }
    };
    const signed = () => {
        const value = number();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    };
    const [arcCount, ringCount] = [number(), number()];
    const arcs = Array.from({ length: arcCount }, () => {
        const [isBorder, xs, ys] = [number() === 1, [], []];
        let [longitude, north] = [0, 0];
        for (let rest = number(); rest > 0; rest -= 1) {
            longitude += signed();
            north += signed();
            xs.push(longitude / 36000 + 0.5);
            ys.push(down(north / 100));
        }
        return { isBorder, xs, ys, box: { west: Math.min(...xs), east: Math.max(...xs), north: Math.min(...ys), south: Math.max(...ys) } };
    });
    const rings = Array.from({ length: ringCount }, () => {
        const walks = Array.from({ length: number() }, number);
        const ring = walks.map((walk) => ({ arc: arcs[Math.floor(walk / 2)], isBackwards: walk % 2 === 1 }));
        const all = (edge) => ring.map(({ arc }) => arc.box[edge]);
        const box = { west: Math.min(...all("west")), east: Math.max(...all("east")), north: Math.min(...all("north")), south: Math.max(...all("south")) };
        return { ring, box };
    });
    return { arcs, rings };
}

/// Draws them. `frame` says which part of the map is seen, and where its points are on the canvas.
export function draw(pen, { arcs, rings }, frame, colors) {
    const { x, y } = frame;
    const isSeen = ({ west, east, north, south }, turn) => x(east + turn) >= 0 && x(west + turn) <= frame.width && y(south) >= 0 && y(north) <= frame.height;
    // What lies east of the map's middle may be seen west of it, and the other way round.
    for (const turn of [-1, 0, 1]) {
        pen.beginPath();
        for (const { ring, box } of rings) {
            if (!isSeen(box, turn)) continue;
            let isFirst = true;
            for (const { arc: { xs, ys }, isBackwards } of ring) {
                for (let step = 0; step < xs.length; step += 1) {
                    const place = isBackwards ? xs.length - 1 - step : step;
                    if (isFirst) pen.moveTo(x(xs[place] + turn), y(ys[place]));
                    else pen.lineTo(x(xs[place] + turn), y(ys[place]));
                    isFirst = false;
                }
            }
            pen.closePath();
        }
        pen.fillStyle = colors.land;
        pen.fill("evenodd");
        for (const isBorder of [true, false]) {
            pen.beginPath();
            for (const arc of arcs) if (arc.isBorder === isBorder && isSeen(arc.box, turn)) line(pen, arc, turn, frame);
            pen.strokeStyle = isBorder ? colors.border : colors.coast;
            pen.lineWidth = 1;
            pen.stroke();
        }
    }
}

/// A coast or a border. Where the data ends, at the antimeridian and at the south pole, there is neither.
function line(pen, { xs, ys }, turn, { x, y }) {
    const lies = (values, place, end) => values[place] === end && values[place - 1] === end;
    pen.moveTo(x(xs[0] + turn), y(ys[0]));
    for (let place = 1; place < xs.length; place += 1) {
        const isCut = lies(xs, place, 0) || lies(xs, place, 1) || lies(ys, place, down(-limit));
        pen[isCut ? "moveTo" : "lineTo"](x(xs[place] + turn), y(ys[place]));
    }
}

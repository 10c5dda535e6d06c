// Photos without a camera: a landscape that is drawn anew each time; and photos with one.

/// A number from 0 to 1 that follows from a seed, the next one each time.
function numbers(seed) {
    // Seeds that follow each other must not begin alike.
    let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
}

const skies = [
    { top: "#27396b", low: "#ff9e6b", sun: "#ffe3b0", hills: ["#8c4a63", "#5b335a", "#2a2144"] },
    { top: "#5fb4e8", low: "#e9f6ff", sun: "#fffbe6", hills: ["#8fc29a", "#4f9a74", "#23685a"] },
    { top: "#0d1330", low: "#35447c", sun: "#f5f1de", hills: ["#24335f", "#172347", "#0a122b"] },
    { top: "#f7b267", low: "#fff1d6", sun: "#ffffff", hills: ["#e8895c", "#c25b4b", "#7a3140"] },
    { top: "#7bd3c8", low: "#fdf0d5", sun: "#fff6cf", hills: ["#f2b880", "#d58b6a", "#87545c"] },
    { top: "#b9a7ee", low: "#ffd9e2", sun: "#fff8ee", hills: ["#9d7fc4", "#6c5aa3", "#3a356f"] },
];

/// Draws the landscape of a seed.
export function draw(canvas, seed) {
    const next = numbers(seed);
    const { width, height } = canvas;
    const context = canvas.getContext("2d");
    const sky = skies[seed % skies.length];
    const air = context.createLinearGradient(0, 0, 0, height * 0.8);
    air.addColorStop(0, sky.top);
    air.addColorStop(1, sky.low);
    context.fillStyle = air;
    context.fillRect(0, 0, width, height);
    const [x, y, radius] = [width * (0.2 + next() * 0.6), height * (0.2 + next() * 0.25), width * (0.07 + next() * 0.06)];
    const glow = context.createRadialGradient(x, y, radius * 0.6, x, y, radius * 5);
    glow.addColorStop(0, `${sky.sun}aa`);
    glow.addColorStop(1, `${sky.sun}00`);
    context.fillStyle = glow;
    context.fillRect(0, 0, width, height);
    context.fillStyle = sky.sun;
    context.beginPath();
    context.arc(x, y, radius, 0, Math.PI * 2);
    context.fill();
    clouds(context, next, width, height);
    sky.hills.forEach((colour, index) => hill(context, next, width, height, colour, 0.52 + index * 0.15));
    grain(context, next, width, height);
}

function clouds(context, next, width, height) {
    context.fillStyle = "rgb(255 255 255 / 28%)";
    for (let index = 0; index < 3; index += 1) {
        const [x, y, size] = [next() * width, height * (0.08 + next() * 0.28), width * (0.04 + next() * 0.05)];
        context.beginPath();
        for (let part = -2; part <= 2; part += 1) {
            context.moveTo(x + part * size + size, y);
            context.ellipse(x + part * size, y, size * 1.1, size * (0.5 - Math.abs(part) * 0.12), 0, 0, Math.PI * 2);
        }
        context.fill();
    }
}

function hill(context, next, width, height, colour, level) {
    const waves = [1, 2, 3].map((order) => [order * (0.7 + next() * 0.6), next() * 6.3, (0.05 * height) / order]);
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x <= width; x += width / 90) {
        const lift = waves.reduce((sum, [speed, phase, size]) => sum + Math.sin((x / width) * 6.3 * speed + phase) * size, 0);
        context.lineTo(x, height * level + lift);
    }
    context.lineTo(width, height);
    context.fill();
}

/// A little unevenness, as photos have it.
function grain(context, next, width, height) {
    context.fillStyle = "rgb(255 255 255 / 3%)";
    for (let index = 0; index < 900; index += 1) context.fillRect(next() * width, next() * height, 2, 2);
}

export const blob = (canvas) => new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.86));

/// A made photo of a seed as the bytes of a JPEG.
export async function made(seed, side = 1080) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [side, side];
    draw(canvas, seed);
    return blob(canvas);
}

/// Whether the browser lets this page ask for a camera: only on a secure origin.
export const hasCamera = () => Boolean(navigator.mediaDevices?.getUserMedia);

/// Shows the camera in a video element until `stop` is called.
export async function camera(video) {
    const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "user", width: 1280, height: 1280 }, audio: false });
    video.srcObject = stream;
    await video.play();
    return () => stream.getTracks().forEach((track) => track.stop());
}

/// The middle square of what the camera shows.
export function snap(video, canvas) {
    const side = Math.min(video.videoWidth, video.videoHeight);
    const context = canvas.getContext("2d");
    const [x, y] = [(video.videoWidth - side) / 2, (video.videoHeight - side) / 2];
    context.drawImage(video, x, y, side, side, 0, 0, canvas.width, canvas.height);
}

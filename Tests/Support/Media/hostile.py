#!/usr/bin/env python3
"""hostile.py FOLDER: writes some 200 broken, bombing and lying pictures and videos into FOLDER.

A file is called NUMBER-PART-NAME, or NUMBER-PART-NAME@REASON where only one refusal is right. PART is how it is posted: photo or video.
Every one of them must be refused. The same files come every time: all randomness has a seed.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

folder = sys.argv[1]
count = 0


def put(part, name, content, reason=None):
    global count
    count += 1
    path = os.path.join(folder, f"{count:03}-{part}-{name}" + (f"@{reason}" if reason else ""))
    with open(path, "wb") as file:
        file.write(content)


def ffmpeg(*arguments, name):
    """The bytes of the file that ffmpeg makes."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, name)
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *arguments, "-y", path], check=True)
        with open(path, "rb") as file:
            return file.read()


def stored(content, name):
    path = os.path.join(work, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def noise(seed, size):
    return random.Random(seed).randbytes(size)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, rows=None):
    """A PNG of one grey; `rows` is how many it really has."""
    packer = zlib.compressobj(9)
    line = b"\0" + b"\x80" * width
    data = b"".join(packer.compress(line) for _ in range(height if rows is None else rows)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def box(kind, content=b"", size=None):
    return struct.pack(">I", 8 + len(content) if size is None else size) + kind + content


FTYP = box(b"ftyp", b"isom\0\0\2\0isomiso2avc1mp41")
EBML = bytes.fromhex("1a45dfa3")
PICTURE = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=1", "-frames:v", "1"]
MAGICS = {
    "jpeg": b"\xff\xd8\xff\xe0", "png": b"\x89PNG\r\n\x1a\n", "webp": b"RIFF\x40\0\0\0WEBPVP8 ", "heic": box(b"ftyp", b"heic\0\0\0\0mif1heic"),
}
STRANGERS = {
    "nothing": b"", "one-byte": b"\xff", "text": b"just words\n" * 50, "html": b"<!doctype html><script>alert(1)</script>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
    "xml-bomb": b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><svg>&b;</svg>',
    "gif": b"GIF89a\x01\0\x01\0\0\0\0;", "bmp": b"BM" + bytes(60), "tiff": b"II*\0" + bytes(60), "pdf": b"%PDF-1.7\n%%EOF",
    "zip": b"PK\x03\x04" + bytes(40), "gzip": b"\x1f\x8b\x08\0" + bytes(20), "elf": b"\x7fELF\x02\x01\x01" + bytes(80),
    "zeros": bytes(4096), "noise": noise(1, 4096),
    "playlist": b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    "master-playlist": b"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://127.0.0.1:9/x.m3u8\n",
    "concat": b"ffconcat version 1.0\nfile /etc/passwd\n", "sdp": b"v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n",
    "manifest": b'<?xml version="1.0"?><MPD><BaseURL>file:///etc/passwd</BaseURL></MPD>',
    "avisynth": b'AviSource("/etc/passwd")\n', "teletext": b"subfile,,start,0,end,9,,:/etc/passwd\n",
}


def photos():
    for name, content in STRANGERS.items():
        put("photo", name, content, "UNSUPPORTED_IMAGE_TYPE")
    whole = {kind: ffmpeg(*PICTURE, name=f"picture.{kind}") for kind in ("jpg", "png", "webp")}
    for kind, content in whole.items():
        for percent in (5, 20, 40, 60, 80):
            put("photo", f"{kind}-cut-at-{percent}", content[:len(content) * percent // 100])
    for kind, magic in MAGICS.items():
        put("photo", f"{kind}-magic-only", magic)
        put("photo", f"{kind}-then-zip", magic + b"PK\x03\x04" + bytes(200))
        put("photo", f"{kind}-then-html", magic + STRANGERS["html"])
        for seed in range(3):
            put("photo", f"{kind}-then-noise-{seed}", magic + noise(seed, 3000))
    put("photo", "png-bomb", png(30_000, 30_000, rows=2_000), "IMAGE_TOO_LARGE")
    put("photo", "png-a-little-too-large", png(8_010, 7_000, rows=10), "IMAGE_TOO_LARGE")
    put("photo", "png-widest", png(100_000, 100_000, rows=1), "IMAGE_TOO_LARGE")
    put("photo", "png-fewer-rows", png(600, 400, rows=100), "IMAGE_UNDECODABLE")
    broken = bytearray(whole["png"])
    broken[20] ^= 0xFF
    put("photo", "png-wrong-sum", bytes(broken))
    huge = bytearray(whole["jpg"])
    for marker in (b"\xff\xc0", b"\xff\xc2"):
        at = huge.find(marker)
        if at > 0:
            huge[at + 5:at + 9] = b"\xff\xff\xff\xff"
    put("photo", "jpeg-of-four-gigapixels", bytes(huge))


def find_patch(content, kind, offset, value):
    """`content` with bytes changed at an offset from each box of a kind."""
    out, at = bytearray(content), content.find(kind)
    while at >= 0:
        out[at + offset:at + offset + len(value)] = value
        at = content.find(kind, at + 4)
    return bytes(out)


def shorten_headers(content):
    """The durations of an MP4's headers said to be two seconds."""
    for kind, offset, ticks in ((b"mvhd", 20, 2_000), (b"tkhd", 24, 2_000)):
        content = find_patch(content, kind, offset, struct.pack(">I", ticks))
    return content


def scrambled(content, seed):
    """An MP4 whose headers are right and whose content is noise."""
    at = content.find(b"mdat")
    size = struct.unpack(">I", content[at - 4:at])[0] - 8
    filler = noise(seed, size) if seed else bytes(size)
    return content[:at + 4] + filler + content[at + 4 + size:]


def videos():
    for name, content in STRANGERS.items():
        put("video", name, content, "UNSUPPORTED_VIDEO_TYPE")
    source = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=10", "-f", "lavfi", "-i", "sine", "-t", "2"]
    h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus"]
    late = ffmpeg(*source, *h264, name="late.mp4")
    early = ffmpeg(*source, *h264, "-movflags", "+faststart", name="early.mp4")
    webm = ffmpeg(*source, *vp9, name="video.webm")
    for name, content in (("mp4", late), ("mp4-index-first", early), ("webm", webm)):
        for percent in (1, 3, 10, 25, 40, 55, 70, 85):
            put("video", f"{name}-cut-at-{percent}", content[:len(content) * percent // 100])
    lies(late, webm)
    strange_codecs(source)
    boxes(early)
    for seed in range(4):
        put("video", f"mp4-content-of-noise-{seed}", scrambled(early, seed))
    for kind in ("jpg", "png", "webp"):
        put("video", f"a-{kind}", ffmpeg(*PICTURE, name=f"p.{kind}"), "UNSUPPORTED_VIDEO_TYPE")


def lies(late, webm):
    mp4, web = stored(late, "late.mp4"), stored(webm, "video.webm")
    for seconds in (62, 600, 36_000):
        # The last of twenty frames must come after that.
        scale = str(seconds * 0.6)
        long = ffmpeg("-itsscale", scale, "-i", mp4, "-map", "0:v", "-c", "copy", name="long.mp4")
        put("video", f"mp4-of-{seconds}-seconds", long, "VIDEO_TOO_LONG")
        put("video", f"mp4-of-{seconds}-seconds-says-2", shorten_headers(long), "VIDEO_TOO_LONG")
        long = ffmpeg("-itsscale", scale, "-i", web, "-map", "0:v", "-c", "copy", name="long.webm")
        put("video", f"webm-of-{seconds}-seconds", long, "VIDEO_TOO_LONG")
        at = long.find(b"\x44\x89\x88")
        lie = long[:at + 3] + struct.pack(">d", 2_000.0) + long[at + 11:]
        put("video", f"webm-of-{seconds}-seconds-says-2", lie, "VIDEO_TOO_LONG")
    at = webm.find(b"\x44\x89\x88")
    for name, milliseconds in (("ten-hours", 36e6), ("a-minute", 59e3)):
        put("video", f"webm-says-{name}", webm[:at + 3] + struct.pack(">d", milliseconds) + webm[at + 11:])


def strange_codecs(source):
    def made(name, *arguments, reason="UNSUPPORTED_VIDEO_TYPE"):
        put("video", name, ffmpeg(*source, *arguments, name="x." + name.rsplit("-", 1)[1]), reason)

    made("mpeg4-mp4", "-c:v", "mpeg4", "-c:a", "aac")
    made("mjpeg-mov", "-c:v", "mjpeg", "-an")
    made("prores-mov", "-c:v", "prores", "-an")
    made("raw-mov", "-c:v", "rawvideo", "-an")
    made("vp8-webm", "-c:v", "libvpx", "-deadline", "realtime", "-an")
    made("h264-mkv", "-c:v", "libx264", "-preset", "ultrafast", "-an")
    made("pcm-mov", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "pcm_s16le")
    made("sound-only-mp4", "-vn", "-c:a", "aac")
    made("sound-only-webm", "-vn", "-c:a", "libopus")
    made("flash-flv", "-c:v", "flv1", "-an")
    made("old-avi", "-c:v", "mpeg4", "-an")
    made("stream-ts", "-c:v", "libx264", "-preset", "ultrafast", "-an")
    for width, height in ((4_112, 16), (16, 4_112), (4_096, 2_400)):
        one = ["-f", "lavfi", "-i", f"color=size={width}x{height}:rate=1", "-frames:v", "1"]
        wide = ffmpeg(*one, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", name="wide.mp4")
        put("video", f"frames-of-{width}x{height}", wide, "VIDEO_TOO_LARGE")


def boxes(early):
    deep = b""
    for _ in range(2_000):
        deep = box(b"moov", deep)
    put("video", "boxes-in-boxes", FTYP + deep)
    put("video", "boxes-in-tracks", FTYP + box(b"moov", box(b"trak", deep)))
    put("video", "type-only", FTYP)
    put("video", "empty-index", FTYP + box(b"moov"))
    put("video", "endless-box", FTYP + box(b"moov", bytes(64), size=0xFFFFFFFF))
    put("video", "box-of-no-size", FTYP + box(b"moov", bytes(64), size=0))
    put("video", "box-of-64-bits", FTYP + box(b"moov", struct.pack(">Q", 1 << 62) + bytes(64), size=1))
    put("video", "box-too-small", FTYP + box(b"moov", bytes(64), size=4))
    put("video", "type-then-zip", FTYP + STRANGERS["zip"])
    put("video", "type-then-playlist", FTYP + STRANGERS["playlist"])
    put("video", "type-then-concat", FTYP + STRANGERS["concat"])
    put("video", "webm-then-playlist", EBML + STRANGERS["playlist"])
    put("video", "webm-magic-only", EBML)
    put("video", "webm-endless", EBML + b"\x01" + b"\xff" * 7 + bytes(64))
    put("video", "webm-other-type", EBML + b"\x87\x42\x82\x84evil" + bytes(64))
    put("video", "samples-beyond-memory", find_patch(early, b"stsz", 12, b"\xff\xff\xff\xf0"))
    put("video", "no-samples", find_patch(early, b"stsz", 12, bytes(4)))
    put("video", "samples-elsewhere", find_patch(early, b"stco", 12, b"\xff\xff\xff\xf0"))
    for seed in range(12):
        put("video", f"type-then-noise-{seed}", FTYP + noise(seed, 5_000))
        put("video", f"webm-then-noise-{seed}", EBML + noise(seed, 5_000))
        put("video", f"index-of-noise-{seed}", FTYP + box(b"moov", box(b"mvhd", noise(seed, 100)) + box(b"trak", noise(seed, 900))))


with tempfile.TemporaryDirectory() as work:
    os.makedirs(folder, exist_ok=True)
    photos()
    videos()
print(count)

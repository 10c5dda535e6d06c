"""What Python's `email` package reads in messages: read.py FOLDER prints, for each *.eml by name, a line of JSON."""

import email
import email.header
import email.policy
import email.utils
import json
import pathlib
import sys

for file in sorted(pathlib.Path(sys.argv[1]).glob("*.eml")):
    raw = file.read_bytes()
    message = email.message_from_bytes(raw, policy=email.policy.SMTP)
    parts = list(message.iter_parts())
    # The newer parser puts spaces between the encoded words of a name.
    name, address = email.utils.parseaddr(email.message_from_bytes(raw)["From"].replace("\r\n", ""))
    recipient = message["To"].addresses
    print(
        json.dumps(
            {
                "headers": [name for name, _ in message.items()],
                "defects": [str(d) for part in message.walk() for d in part.defects]
                + [str(d) for value in message.values() for d in value.defects],
                "subject": message["Subject"],
                "from": [[str(email.header.make_header(email.header.decode_header(name))), address]],
                "to": [[a.display_name, a.addr_spec] for a in recipient],
                "id": message["Message-ID"],
                "date": int(message["Date"].datetime.timestamp()),
                "types": [part.get_content_type() for part in parts],
                "bodies": [part.get_content() for part in parts],
                "longest": max(len(line) for line in raw.split(b"\r\n")),
                "bare": raw.replace(b"\r\n", b"").count(b"\n") + raw.replace(b"\r\n", b"").count(b"\r"),
                "ascii": raw.isascii(),
            }
        )
    )

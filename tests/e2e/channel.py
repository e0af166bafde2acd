"""A channel in Python, with the standard library only. Its platform is two files: each line of the
inbox is a message of a person, and each line of the outbox is a message of the agent. Files of people
are beside the inbox, and files of the agent are put beside the outbox.

Usage: channel.py SOCKET ACCOUNT INBOX OUTBOX

The daemon may also start it as a child. It then uses standard input and output instead of the socket.
"""

import base64
import json
import os
import select
import socket
import sys
import time

RETRY = -32003
# The daemon sets this variable for its children.
IS_CHILD = "AVOCET_CHANNEL" in os.environ


class Daemon:
    """A connection to the daemon: one JSON object per line."""

    def __init__(self, path):
        self.buffer = b""
        # Lines that arrived while a call waited for its answer.
        self.waiting = []
        if IS_CHILD:
            self.input, self.output = sys.stdin.fileno(), sys.stdout.fileno()
            return
        while True:
            self.connection = socket.socket(socket.AF_UNIX)
            try:
                self.connection.connect(path)
            except OSError:
                self.connection.close()
                time.sleep(0.05)
            else:
                self.input = self.output = self.connection.fileno()
                return

    def write(self, **message):
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        while line:
            line = line[os.write(self.output, line):]

    def call(self, method, params):
        """Makes a request, and waits for its answer."""
        self.write(id=method, method=method, params=params)
        others = []
        while True:
            lines = self.read()
            for place, line in enumerate(lines):
                if line.get("id") == method and "method" not in line:
                    self.waiting = others + lines[:place] + lines[place + 1:]
                    return line["result"]
            others += lines

    def read(self):
        """Returns the lines that have arrived. Raises an error when the connection has ended."""
        if self.waiting:
            lines, self.waiting = self.waiting, []
            return lines
        if not select.select([self.input], [], [], 0.05)[0]:
            return []
        received = os.read(self.input, 65536)
        if not received:
            raise ConnectionError("the daemon has ended")
        *lines, self.buffer = (self.buffer + received).split(b"\n")
        return [json.loads(line) for line in lines]


def append(path, message):
    """Writes a message to the platform. When this returns, the message is on the disk."""
    with open(path, "a") as file:
        file.write(json.dumps(message) + "\n")
        file.flush()
        os.fsync(file.fileno())


def save_files(daemon, delivery, attachments, outbox):
    """Saves the files of a message of the agent beside the outbox, and returns their names."""
    for number, attachment in enumerate(attachments):
        path = os.path.join(os.path.dirname(outbox), "sent-" + attachment["name"])
        with open(path, "wb") as file:
            while True:
                params = {"delivery": delivery, "file": number, "offset": file.tell()}
                piece = base64.b64decode(daemon.call("file.get", params)["data"])
                if not piece:
                    break
                file.write(piece)
    return [attachment["name"] for attachment in attachments]


def loses_answer(outbox):
    """Returns `True` once if a test has asked for a lost answer, with a file beside the outbox."""
    try:
        os.remove(os.path.join(os.path.dirname(outbox), "lose-answer"))
    except FileNotFoundError:
        return False
    return True


def read_file(inbox, params):
    """Returns a piece of a file that a person has sent."""
    with open(os.path.join(os.path.dirname(inbox), params["reference"]), "rb") as file:
        file.seek(params["offset"])
        return base64.b64encode(file.read(params["length"])).decode()


def unread(path, position):
    """Returns the message at this position, if its line is complete."""
    with open(path) as file:
        for number, line in enumerate(file):
            if number == position and line.endswith("\n"):
                return json.loads(line)
    return None


def serve(socket_path, account, inbox, outbox):
    daemon = Daemon(socket_path)
    daemon.write(id="hello", method="hello", params={"protocol": 1})
    daemon.write(id="attach", method="attach", params={"channel": "external", "account": account})
    # The daemon knows which messages it has committed, so the program keeps no state.
    position, published = None, None
    while True:
        if position is not None and published is None:
            message = unread(inbox, position)
            if message:
                published = position
                cursor = {"position": str(position + 1)}
                params = {**message, "chat": f"external:{account}:{message['chat']}", "cursor": cursor}
                daemon.write(id=published, method="publish", params=params)
        for line in daemon.read():
            if line.get("method") == "deliver":
                chunk = line["params"]
                mark = "(again) " if chunk["repeat"] else ""
                files = save_files(daemon, line["id"], chunk.get("attachments", []), outbox)
                text = mark + chunk["text"]
                append(outbox, {"chat": chunk["chat"], "text": text, "files": files})
                if loses_answer(outbox):
                    raise ConnectionError("a test loses the answer")
                daemon.write(id=line["id"], result={})
            elif line.get("method") == "file.read":
                daemon.write(id=line["id"], result={"data": read_file(inbox, line["params"])})
            elif line.get("id") == "attach" and "result" in line:
                position = int(line["result"]["cursors"].get("", "0"))
            elif line.get("id") == "attach":
                raise ConnectionError(line["error"]["message"])
            elif published is not None and line.get("id") == published:
                # A refusal is final, unless the daemon cannot answer at present.
                if line.get("error", {}).get("code") == RETRY:
                    time.sleep(0.05)
                else:
                    position += 1
                published = None


def main():
    while True:
        try:
            serve(*sys.argv[1:])
        except (ConnectionError, BrokenPipeError):
            if IS_CHILD:
                return
            time.sleep(0.05)


main()

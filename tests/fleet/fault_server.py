#!/usr/bin/env python3
"""fault_server.py http|redis PORT MODE_FILE LOG: a server that answers wrongly when told to.

It stands before the real server at 127.0.0.1:PORT, prints its own port, and logs one line for each request. MODE_FILE says
what becomes of the next ones; it may be rewritten at any time. Its text is `[after N] FAULT [ARGUMENT]`: the first N
requests since it was written pass.

  pass             as the real server says
  kill GROUP       the real server is killed, with its process group, then the request is passed on
  status CODE      HTTP only: that status, without asking
  redirect URL     HTTP only: 302 to URL and the rest of the path
  error TEXT       Redis only: -TEXT
  garbage          bytes that are no protocol
  body FILE        the right form, with the bytes of FILE in it
  flip N           the real answer with byte N of its body inverted (from the end if negative)
  truncate         half of the real body, then the connection is closed
  endless          a body that never ends
  huge             says it will send 1 TiB, sends a little, and waits
  stall            never answers
  drip             one byte in a second
  close            closes the connection instead of an answer

Nothing outside of 127.0.0.1 is ever asked.
"""
import http.client
import http.server
import os
import random
import signal
import socket
import socketserver
import sys
import threading
import time

FILLER = random.Random(1).randbytes(1 << 16)


class Mode:
    """What the mode file says, and how many requests it has seen."""

    def __init__(self, path):
        self.path, self.text, self.left, self.lock = path, None, 0, threading.Lock()

    def next(self):
        """The words of the fault for this request."""
        with self.lock, open(self.path, encoding="ascii") as file:
            stamp = (os.fstat(file.fileno()).st_mtime_ns, file.read())
            if stamp != self.text:
                self.text = stamp
                words = stamp[1].split()
                self.left = int(words[1]) if words[:1] == ["after"] else 0
            words = self.text[1].split()
            if words[:1] == ["after"]:
                self.left -= 1
                words = ["pass"] if self.left >= 0 else words[2:]
        return words or ["pass"]


def wait_for_end(connection):
    """Until the other side has gone; what it still says is of no interest."""
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


def drip(connection, data):
    for byte in data:
        connection.sendall(bytes([byte]))
        time.sleep(1)


def endless(connection):
    while True:
        connection.sendall(FILLER)


def altered(words, body):
    """The body that `flip` and `body` send instead."""
    if words[0] == "flip" and body:
        at = int(words[1]) % len(body)
        body = body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1:]
    elif words[0] == "body":
        with open(words[1], "rb") as file:
            body = file.read()
    return body


class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def ask(self, body):
        real = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=30)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("expect", "connection")}
            real.request(self.command, self.path, body, headers) # with their Host: it is signed
            answer = real.getresponse()
            return answer.status, answer.read(), answer.getheaders()
        except (OSError, http.client.HTTPException):
            return None, b"", []
        finally:
            real.close()

    def answer(self, status, body, headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            if name.lower() in ("etag", "content-type", "location"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def leave(self, body=b"", then=None):
        self.wfile.flush()
        if body:
            self.connection.sendall(body)
        if then:
            then(self.connection)
        self.close_connection = True

    def handle_fault(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        words = self.server.mode.next()
        self.server.note(f"{self.command} {self.path} {words[0]}")
        fault = words[0]
        if fault == "kill":
            os.killpg(int(words[1]), signal.SIGKILL)
        if fault == "status":
            return self.answer(int(words[1]), b"a fault was asked for\n")
        if fault == "redirect":
            return self.answer(302, b"", [("Location", words[1] + self.path)])
        if fault == "garbage":
            return self.leave(FILLER[:4096])
        if fault == "stall":
            return self.leave(then=wait_for_end)
        if fault == "close":
            return self.leave()
        if fault == "endless":
            return self.leave(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", endless)
        if fault == "huge":
            self.answer(200, FILLER, length=1 << 40)
            return self.leave(then=wait_for_end)
        status, real, headers = self.ask(body)
        if status is None:
            return self.leave()
        if fault == "drip":
            return self.leave(b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n" % (status, len(real)), lambda to: drip(to, real))
        if fault == "truncate":
            self.answer(status, real[:len(real) // 2], headers, len(real) or 100)
            return self.leave()
        if fault == "body":
            status = 200
        return self.answer(status, altered(words, real), headers)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_fault

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass # they left


class Reply:
    """Reads one message of Redis's protocol, requests and replies alike; raw: its bytes, words: its strings."""

    def __init__(self, file):
        self.raw, self.words = b"", []
        self.read(file)

    def read(self, file):
        line = file.readline()
        self.raw += line
        if not line.endswith(b"\r\n"):
            raise EOFError
        count = int(line[1:]) if line[:1] in b"$*" else -1
        if line[:1] == b"$" and count >= 0:
            data = file.read(count + 2)
            self.raw += data
            self.words.append(data[:-2])
        elif line[:1] == b"*":
            for _ in range(count):
                self.read(file)


class Redis(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            with socket.create_connection(("127.0.0.1", self.server.upstream)) as real, real.makefile("rb") as answers:
                while self.one(real, answers):
                    pass
        except (OSError, EOFError, ValueError):
            pass # one of them left

    def one(self, real, answers):
        request = Reply(self.rfile)
        words = self.server.mode.next()
        name = " ".join(word.decode("latin-1")[:100] for word in request.words[:2] if request.words[0] != b"AUTH")
        self.server.note(f"{name} {words[0]}")
        fault = words[0]
        if fault == "kill":
            os.killpg(int(words[1]), signal.SIGKILL)
        if fault in ("garbage", "stall", "close", "endless", "huge"):
            start = {"garbage": FILLER[:4096], "endless": b"$1099511627776\r\n", "huge": b"$1099511627776\r\nabc"}
            self.connection.sendall(start.get(fault, b""))
            if fault in ("stall", "huge"):
                wait_for_end(self.connection)
            if fault == "endless":
                endless(self.connection)
            return False
        if fault == "error":
            self.connection.sendall(b"-" + " ".join(words[1:]).encode() + b"\r\n")
            return True
        real.sendall(request.raw)
        answer = Reply(answers)
        if fault == "drip":
            return drip(self.connection, answer.raw)
        if fault == "truncate":
            self.connection.sendall(answer.raw[:len(answer.raw) // 2])
            return False
        body = answer.words[0] if len(answer.words) == 1 else None
        if body is not None and fault in ("flip", "body"):
            body = altered(words, body)
            self.connection.sendall(b"$%d\r\n%s\r\n" % (len(body), body))
        else:
            self.connection.sendall(answer.raw)
        return True


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def note(self, line):
        with self.lock:
            self.log.write(line + "\n")
            self.log.flush()


def main(kind, upstream, mode, log):
    handler = {"http": Http, "redis": Redis}[kind]
    with Server(("127.0.0.1", 0), handler) as server, open(log, "a", encoding="utf-8") as file:
        server.upstream, server.mode, server.log, server.lock = int(upstream), Mode(mode), file, threading.Lock()
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in ("http", "redis"):
        sys.exit(__doc__)
    main(*sys.argv[1:])

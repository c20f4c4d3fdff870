"""A mail server on port 25 that keeps what it is given: each mail is written to standard output."""

import socketserver
import sys


class Receive(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().decode().strip():
            match line.split()[0].upper():
                case "DATA":
                    self._say("354 go on")
                    content = b""
                    while not content.endswith(b"\r\n.\r\n"):
                        content += self.rfile.readline()
                    sys.stdout.write(content.decode())
                    sys.stdout.flush()
                    self._say("250 kept")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 good")

    def _say(self, answer: str) -> None:
        self.wfile.write(f"{answer}\r\n".encode())


if __name__ == "__main__":
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    with socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Receive) as server:
        server.serve_forever()

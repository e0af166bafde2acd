"""A strict MCP server over HTTP with its own authorization server, with the standard library only.

It prints its port. Each access token is valid until its login is renewed, and states a lifetime of one second, so
that a client renews it before each request. `POST /admin/revoke` ends all logins, and `GET /admin/stats` counts the
renewals. A request that breaks a rule gets an error, which the client has to show.
"""

import base64
import hashlib
import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Json = dict[str, Any]


class Refusal(Exception):
    """An error answer of the authorization server (RFC 6749, section 5.2)."""


class State:
    def __init__(self) -> None:
        self.clients: dict[str, list[str]] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.access: set[str] = set()
        self.refresh: dict[str, str] = {}
        self.renewals = 0


STATE = State()


def need(condition: bool, error: str) -> None:
    if not condition:
        raise Refusal(error)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def log_message(self, *_: Any) -> None:
        """Logs nothing: requests have tokens."""

    def answer(self, status: int, value: Json | None = None, **headers: str) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        if value is not None:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        base, url = self.base, urlsplit(self.path)
        match url.path:
            case "/.well-known/oauth-protected-resource/mcp":
                self.answer(200, {"resource": f"{base}/mcp", "authorization_servers": [f"{base}/login"]})
            case "/.well-known/oauth-authorization-server/login":
                endpoints = {
                    name: f"{base}/login/{path}"
                    for name, path in [
                        ("authorization_endpoint", "authorize"),
                        ("token_endpoint", "token"),
                        ("registration_endpoint", "register"),
                        ("revocation_endpoint", "revoke"),
                    ]
                }
                methods = {"code_challenge_methods_supported": ["S256"]}
                self.answer(200, {"issuer": f"{base}/login", **endpoints, **methods})
            case "/login/authorize":
                self.authorize(dict(parse_qsl(url.query, strict_parsing=True)))
            case "/admin/stats":
                self.answer(200, {"renewals": STATE.renewals})
            case "/mcp":
                self.answer(405)
            case _:
                self.answer(404)

    def authorize(self, query: dict[str, str]) -> None:
        """Does what the page of a real server does after a person has agreed."""
        client, redirect = query["client_id"], query["redirect_uri"]
        is_good = (
            redirect in STATE.clients.get(client, [])
            and query["response_type"] == "code"
            and query["code_challenge_method"] == "S256"
            and query["resource"] == f"{self.base}/mcp"
        )
        if not is_good:
            self.answer(400, {"error": "invalid_request"})
            return
        code = secrets.token_urlsafe()
        STATE.codes[code] = {"client": client, "redirect": redirect, "challenge": query["code_challenge"]}
        back = urlencode({"code": code, "state": query["state"]})
        self.answer(302, location=f"{redirect}?{back}")

    def do_DELETE(self) -> None:
        self.answer(405)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        try:
            match self.path:
                case "/mcp":
                    self.mcp(json.loads(body))
                case "/login/register":
                    self.answer(201, self.register(json.loads(body)))
                case "/login/token":
                    self.answer(200, self.token(dict(parse_qsl(body.decode(), strict_parsing=True))))
                case "/login/revoke" | "/admin/revoke":
                    STATE.access.clear()
                    STATE.refresh.clear()
                    self.answer(200, {})
                case _:
                    self.answer(404)
        except Refusal as refusal:
            self.answer(400, {"error": str(refusal)})

    def register(self, client: Json) -> Json:
        redirects = client["redirect_uris"]
        need(all(one.startswith("http://127.0.0.1:") for one in redirects), "invalid_redirect_uri")
        need(client["token_endpoint_auth_method"] == "none", "invalid_client_metadata")
        name = secrets.token_urlsafe()
        STATE.clients[name] = redirects
        return {**client, "client_id": name}

    def token(self, form: dict[str, str]) -> Json:
        need(form.get("client_id") in STATE.clients, "invalid_client")
        need(form.get("resource") == f"{self.base}/mcp", "invalid_target")
        if form["grant_type"] == "refresh_token":
            need(STATE.refresh.pop(form["refresh_token"], None) == form["client_id"], "invalid_grant")
            STATE.renewals += 1
            STATE.access.clear()
        else:
            need(form["grant_type"] == "authorization_code", "unsupported_grant_type")
            code = STATE.codes.pop(form["code"], None)
            need(code is not None, "invalid_grant")
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            proof = {"client": form["client_id"], "redirect": form["redirect_uri"], "challenge": challenge}
            need(code == proof, "invalid_grant")
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        STATE.access.add(access)
        STATE.refresh[refresh] = form["client_id"]
        return {"access_token": access, "token_type": "Bearer", "expires_in": 0, "refresh_token": refresh}

    def mcp(self, message: Json) -> None:
        scheme, _, token = (self.headers["authorization"] or "").partition(" ")
        if scheme != "Bearer" or token not in STATE.access:
            metadata = f"{self.base}/.well-known/oauth-protected-resource/mcp"
            self.answer(401, www_authenticate=f'Bearer resource_metadata="{metadata}"')
            return
        result: Json
        match message["method"]:
            case "initialize":
                result = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "fake", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": "work is done"}]}
            case _:
                self.answer(202)
                return
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())

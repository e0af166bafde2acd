"""Connections to a platform. In the sandbox of the daemon they pass its proxy.

The proxy is the only way out of the sandbox. It reaches the `hosts` of the channel's table.
"""

import asyncio
import os
import socket
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from .stdio import VARIABLE

# Bytes of the longest answer of the proxy that is read.
MAX_HEAD_BYTES = 16 * 1024


def proxy_for(host: str) -> tuple[str, int] | None:
    """Return the proxy for a host; `None` if a direct connection is right."""
    if VARIABLE not in os.environ or proxy_bypass(host):
        return None
    url = urlsplit(getproxies_environment().get("https", ""))
    return (url.hostname, url.port or 80) if url.hostname else None


def create_connection(address: tuple[str, int], timeout: float | None = None) -> socket.socket:
    """Connect to a host and a port. Works as `socket.create_connection`.

    Raises `OSError`. A refusal of the proxy is a `ConnectionRefusedError` with its reason.
    """
    host, port = address
    if (proxy := proxy_for(host)) is None:
        return socket.create_connection(address, timeout)
    connection = socket.create_connection(proxy, timeout)
    try:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        connection.sendall(request.encode("ascii"))
        _check(connection, target)
    except BaseException:
        connection.close()
        raise
    return connection


async def open_connection(
    host: str, port: int, *, timeout: float | None = None, **options: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a host and a port. Works as `asyncio.open_connection`.

    `timeout` limits the time to reach the proxy and for its answer.
    """
    if proxy_for(host) is None:
        return await asyncio.open_connection(host, port, **options)
    connection = await asyncio.to_thread(create_connection, (host, port), timeout)
    connection.setblocking(False)
    if options.get("ssl"):
        options.setdefault("server_hostname", host)
    return await asyncio.open_connection(sock=connection, **options)


def _check(connection: socket.socket, target: str) -> None:
    """Read the head of the proxy's answer, and not a byte of the platform behind it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte or len(head) > MAX_HEAD_BYTES:
            raise ConnectionResetError(f"the proxy of the sandbox has ended the way to {target}")
        head += byte
    line = head.split(b"\r\n", 1)[0].decode("latin-1")
    _, _, status = line.partition(" ")
    if not status.startswith("2"):
        reason = status.partition(" ")[2] or status
        raise ConnectionRefusedError(
            f"the proxy of the sandbox refuses {target}: {reason}; add it to `hosts` of the channel"
        )

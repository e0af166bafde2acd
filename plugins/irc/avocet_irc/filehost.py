"""Upload of files to the place that a server names in `soju.im/FILEHOST`.

The request is a POST with the bytes, and the answer 201 has the address of the file in `Location`.
"""

import base64
import http.client
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from avocet_client import network

from .settings import Settings, is_local

MAX_URL_CHARS = 300


class UploadFailed(Exception):
    """A file was not taken. `is_passing` is `True` if a later attempt may succeed."""

    def __init__(self, reason: str, is_passing: bool) -> None:
        super().__init__(reason)
        self.is_passing = is_passing


def upload(host: str, file: Mapping[str, Any], content: bytes, settings: Settings) -> str:
    """Upload a file and return its address. Raises `UploadFailed`."""
    url = urlsplit(host)
    is_secure = url.scheme == "https"
    if not url.hostname or not (is_secure or (url.scheme == "http" and is_local(url.hostname))):
        raise UploadFailed(f"the server's place for files {host!r} has no https address", False)
    headers = {
        "Content-Type": str(file.get("media_type") or "application/octet-stream"),
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(str(file['name']), safe='')}",
    }
    if any(char in headers["Content-Type"] for char in "\r\n"):
        headers["Content-Type"] = "application/octet-stream"
    if settings.sasl_user and _is_same_site(url.hostname, settings.server):
        secret = f"{settings.sasl_user}:{settings.sasl_password}".encode()
        headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()
    try:
        timeout = settings.timeout_seconds
        connection: http.client.HTTPConnection
        if is_secure:
            context = ssl.create_default_context(cafile=settings.ca_file or None)
            proxy = network.proxy_for(url.hostname)
            connection = http.client.HTTPSConnection(
                *(proxy or (url.hostname, url.port)), timeout=timeout, context=context
            )
            if proxy is not None:
                connection.set_tunnel(url.hostname, url.port or 443)
        else:
            connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
        try:
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            connection.request("POST", path, content, headers)
            answer = connection.getresponse()
            status, location = answer.status, answer.getheader("Location", "")
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UploadFailed(f"the place for files cannot be reached: {error}", True) from error
    if status not in (200, 201) or not location:
        reason = f"the place for files answers with status {status}"
        raise UploadFailed(reason, status >= 500 or status == 429)
    address = urljoin(host, location)
    if (
        len(address) > MAX_URL_CHARS
        or not address.isascii()
        or not address.isprintable()
        or " " in address
    ):
        raise UploadFailed("the place for files returns an address that cannot be shown", False)
    return address


def _is_same_site(host: str, server: str) -> bool:
    """Return `True` if the place for files belongs to the server and may see the password."""
    return host == server or host.endswith(f".{server}")

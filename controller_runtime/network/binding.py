"""A socket that listens: on IPv6 and IPv4 alike where the host may be either."""

from __future__ import annotations

import errno
import socket

from controller_runtime.network.listener_limits import ListenerLimits


def bind(host: str, port: int, limits: ListenerLimits) -> socket.socket:
    """A bound socket; without a host on every address, IPv6 and IPv4 in one where the machine has both."""
    if host in {"", "::"}:
        try:
            return _bind_one(socket.AF_INET6, "::", port, limits)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OSError(error.errno, f"cannot listen on port {port}: {error.strerror}") from error
            host = "0.0.0.0"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _bind_one(family, str(address[0]), port, limits)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from error


def _bind_one(family: int, host: str, port: int, limits: ListenerLimits) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and host == "::":
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if limits.receive_buffer_bytes:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        if limits.send_buffer_bytes:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
        listening.setblocking(False)
        listening.bind((host, port))
    except BaseException:
        listening.close()
        raise
    return listening


def packed_address(host: str) -> bytes:
    """4 or 16 bytes; an IPv4 peer of an IPv6 socket counts as IPv4."""
    if ":" not in host:
        return socket.inet_aton(host)
    packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    return packed[12:] if packed.startswith(bytes(10) + b"\xff\xff") else packed

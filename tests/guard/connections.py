"""Refuse connections beyond this machine while a test runs that did not ask for them.

Without this, a test that downloads public data passes wherever the network or a filled cache lets it, and fails in a
bare clone. Python raises an audit event before it connects or looks up a name, so an audit hook sees every attempt,
whichever library makes it. ``isolation`` installs the hook in the test process; ``sitecustomize``, found through
``PYTHONPATH``, installs it in the Python processes that tests start.
"""

import os
import sys

# Names a file while connections are refused. Every refusal is also appended to it, so that the test fails even if the
# code under test catches the exception, or if it happens in another process.
LOG = "PLAINLY_TEST_REFUSED"

# Ray's dashboard asks at start which cloud it runs in, whatever the settings; it reads no data.
_EXEMPT_PROGRAM = os.path.join("ray", "dashboard", "dashboard.py")

_EVENTS = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


class ConnectionRefusedByTests(BaseException):
    """Not an ``Exception``, so that code which retries or falls back does not catch it."""


def install() -> None:
    """Install the audit hook in this process. It acts only while the environment variable ``LOG`` is set."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event not in _EVENTS or LOG not in os.environ:
        return
    host = _host(event, arguments)
    if host is None or _is_this_machine(host) or sys.argv[0].endswith(_EXEMPT_PROGRAM):
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "A test").rpartition(" (")[0] or "A test"
    message = (
        f"{test} tried to connect to {host}, but a test must not connect to other machines. If it needs public data, "
        "mark it with @pytest.mark.mirror; if it installs packages from an index, with @pytest.mark.packages."
    )
    with open(os.environ[LOG], "a", encoding="utf-8") as log:
        log.write(message + "\n")
    raise ConnectionRefusedByTests(message)


def _host(event: str, arguments: tuple[object, ...]) -> str | None:
    """The host that an event is about; None for sockets that are not for the internet or that send nothing yet."""
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        import socket

        address = arguments[1]
        if not isinstance(address, tuple):  # a Unix socket
            return None
        # Connecting a datagram socket sends nothing; it is the usual way to learn this machine's own address.
        if event == "socket.connect" and getattr(arguments[0], "type", None) == socket.SOCK_DGRAM:
            return None
        host = address[0]
    if isinstance(host, bytes):
        return host.decode("utf-8", "replace")
    return host if isinstance(host, str) else None


def _is_this_machine(host: str) -> bool:
    import ipaddress
    import socket

    if host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))  # possible only with an address of this machine
        except OSError:
            return False
    return True

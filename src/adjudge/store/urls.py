"""URLs of stores: the part that messages can show, and the part that a database needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from adjudge.errors import ArgumentError

#: One letter and a colon is a drive of Windows, not a scheme.
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: Other parts of a URL can be secret and are not shown.
_SHOWN = ("host", "port", "dbname", "schema")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LATE_AT = re.compile(r"://[^@]*[/?].*@")
DEFAULT_SCHEMA = "adjudge"
#: The remedy for a URL that cannot be read.
ENCODE = (
    "write postgresql://USER@HOST/DATABASE, and in names and passwords %40 for @, %2F for /,"
    " %3A for :, %3F for ? and %25 for %"
)


def scheme_of(place: object) -> str | None:
    """The scheme of a URL; None for a file.

    >>> scheme_of("postgresql://db/x"), scheme_of("C:/runs/s.db")
    ('postgresql', None)
    """
    match = SCHEME.match(place) if isinstance(place, str) else None
    return match[1] if match else None


def without_secrets(place: str) -> str:
    """A place as shown in messages: never with user, password or options of the connection.

    A password can contain any character, also those that should be written as %40 or %2F.

    >>> without_secrets("postgresql://me:se/cr@t@db.example/judgments?schema=a&password=x")
    'postgresql://db.example/judgments?schema=a'
    >>> without_secrets("sqlite:///me@home.db")
    'sqlite:///me@home.db'
    """
    scheme = scheme_of(place)
    if scheme is None or scheme == "sqlite":
        return place
    address, _, query = place[len(scheme) + 3 :].rpartition("@")[2].partition("?")
    options = [(name, value) for name, value in parse_qsl(query) if name in _SHOWN]
    return f"{scheme}://{address}" + (f"?{urlencode(options, safe='/')}" if options else "")


@dataclass(frozen=True)
class DatabaseURL:
    """The URL of a database: libpq's part (never shown), our schema, and its name."""

    name: str
    schema: str
    address: str = field(repr=False)

    @classmethod
    def parse(cls, place: str) -> DatabaseURL:
        """Take `schema=NAME`, which is ours, out of the URL.

        A password with @, / or ? in it would be read partly as the host, and shown in errors.
        """
        if "@" in place.partition("://")[2].partition("@")[2] or _LATE_AT.search(place):
            raise ArgumentError("store", without_secrets(place), ENCODE)
        address, _, query = place.partition("?")
        options = [option.partition("=") for option in query.split("&") if option]
        schema = next((value for key, _, value in options if key == "schema"), DEFAULT_SCHEMA)
        name = without_secrets(place)
        if not _SCHEMA.fullmatch(schema):
            raise ArgumentError(
                "store", name, "schema: use small letters, digits and _, a letter first"
            )
        rest = "&".join("".join(option) for option in options if option[0] != "schema")
        return cls(name, schema, f"{address}?{rest}" if rest else address)

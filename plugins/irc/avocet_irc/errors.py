"""The errors of a connection to a server."""


class Refused(Exception):
    """The server refuses the program. Another attempt with the same settings is pointless."""


class Lost(Exception):
    """The connection ended, or cannot be opened now."""

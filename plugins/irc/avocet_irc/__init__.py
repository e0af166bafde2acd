"""IRC as a channel of Avocet."""

__version__ = "0.1.0"

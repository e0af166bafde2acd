"""An e-mail channel for Avocet: reads a mailbox over IMAP and answers over SMTP."""

__version__ = "0.1.0"

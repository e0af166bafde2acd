"""A client for the Unix socket of Avocet: ask the agent, send messages, follow events."""

from . import network, types
from .blocking import BlockingAttachment, BlockingClient, BlockingDelivery, BlockingSubscription
from .chats import Attachment, Channel, Delivery
from .client import Client, default_path
from .errors import AvocetError, ConnectionLost
from .following import Subscription
from .stdio import served_account
from .types import ErrorCode

__all__ = [
    "Attachment",
    "AvocetError",
    "BlockingAttachment",
    "BlockingClient",
    "BlockingDelivery",
    "BlockingSubscription",
    "Channel",
    "Client",
    "ConnectionLost",
    "Delivery",
    "ErrorCode",
    "Subscription",
    "default_path",
    "network",
    "served_account",
    "types",
]

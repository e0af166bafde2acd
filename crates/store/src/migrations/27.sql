-- From version 26 to 27: costs since a time are found by their ids, which have the same order.

DROP INDEX usage_at;

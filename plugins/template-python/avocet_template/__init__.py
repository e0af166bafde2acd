"""A channel of Avocet, to be copied."""

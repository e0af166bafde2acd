"""A channel of Avocet, meant to be copied."""

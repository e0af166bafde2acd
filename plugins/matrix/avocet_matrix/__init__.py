"""A channel of Avocet for Matrix."""

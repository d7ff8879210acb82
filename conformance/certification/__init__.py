"""Certificates: what a frozen profile asks, and what a server showed, signed."""

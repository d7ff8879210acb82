"""Driving a server of 2025-11-25: the handshake, its sessions, and what it asks of its client."""

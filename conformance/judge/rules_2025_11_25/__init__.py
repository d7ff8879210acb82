"""The rules of revision 2025-11-25, a module a topic."""

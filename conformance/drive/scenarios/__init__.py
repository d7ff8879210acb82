"""The scenarios, a module a topic."""

"""The rules of the catalogue, a module a topic."""

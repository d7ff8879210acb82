"""What the specification says, as data."""

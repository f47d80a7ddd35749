"""The one error that a user's data can cause."""


class DataError(ValueError):
    """Input that cannot be used: the message says what is wrong, where, and what to do."""

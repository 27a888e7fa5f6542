"""Why an extension cannot be used."""


class ExtensionFault(Exception):
    """An extension cannot be used; the text says why, without its name."""

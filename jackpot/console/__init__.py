"""The web: operations, finance, the sign page, and who may see and do what.

It shows what was committed and asks the desk to change things; it decides nothing about money itself.
"""

from jackpot.console.app import create_app

__all__ = ["create_app"]

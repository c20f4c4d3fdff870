"""The site's certificates: an authority for each kind of holder, and what it issues and revokes. Files, no server."""

from jackpot.pki.authority import Authority, Issued, Kind
from jackpot.pki.site import Site

__all__ = ["Authority", "Issued", "Kind", "Site"]

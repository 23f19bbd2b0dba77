"""Questions over whole instructions and catalogs: plain data out, no printing."""

from __future__ import annotations

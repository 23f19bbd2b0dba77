"""Chains: can the result of one matrix instruction feed the next without passing through memory, and how.

`chain` answers for two instructions, `feeds` for everything that one instruction can feed for free. All of it follows
from the layouts; nothing is recorded for any instruction. The package is not called `chain`, because `mmacalc.chain`
is the function.
"""

from __future__ import annotations

from .answer import Chain, Condition, Feeds, Filled, Followers
from .asking import chain, feeds

__all__ = ["Chain", "Condition", "Feeds", "Filled", "Followers", "chain", "feeds"]

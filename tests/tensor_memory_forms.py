"""The targets with Tensor Memory, and the tcgen05.mma of a form."""

from __future__ import annotations

import mmacalc
from mmacalc.catalog import ptx

TARGETS = tuple([record["name"] for record in ptx.ARCHITECTURES if "tcgen05" in record])


def depths(form, target, m):
    """The K that a form may have with M on a target; None if the target does not take the form."""
    scales = ".block_scale.block32" if form.kind.startswith("mx") else ""
    name = f"tcgen05.mma{'.ws' * form.ws}{'.sp' * form.sparse}.cta_group::{form.cta_group}.kind::{form.kind}{scales}"
    try:
        return mmacalc.instruction(target, name).depths_with(m)
    except mmacalc.Error:
        return None

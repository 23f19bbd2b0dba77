"""Compiled AMD kernels on emulated waves: see `mmacalc.launch` and docs/kernels.md."""

"""Derives src/mmacalc/asm/instruction_tables.txt from LLVM's decoder."""

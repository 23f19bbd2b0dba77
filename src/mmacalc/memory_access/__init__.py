"""How an operand is loaded from memory or stored to it: accesses, cache lines, LDS banks, and their repair."""

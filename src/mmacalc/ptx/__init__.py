"""PTX as text: its reader, which knows the grammar and no instruction (PTX ISA 9.0, sections 4 and 5)."""

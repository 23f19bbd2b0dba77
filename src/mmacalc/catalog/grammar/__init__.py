"""The grammars of instruction names: AMD mnemonics, PTX names, SASS opcodes."""

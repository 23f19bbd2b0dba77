"""The operations of instructions: tables of rows, a row for each."""

"""PTX kernels on the emulator: `program` compiles statements to steps, `machine` runs them, `order` finds races."""

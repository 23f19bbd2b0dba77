"""CUDA and HIP programs, with their host code, on the emulator: `run_program`."""

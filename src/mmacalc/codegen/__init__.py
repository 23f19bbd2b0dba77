"""Source code from layouts: kernels around one instruction, whole GEMM kernels, and index expressions."""

"""Runs a generated HIP kernel on the host: a thread for each work-item, the matrix instruction by its layouts."""

import subprocess
from string import Template

import numpy as np

from llvm_mc import tool
from mmacalc.compiler.builtins import intrinsic

# The kernel's source follows the first part; `multiply` stands for the builtin: the lanes of a wave put their A and B
# where the layouts have them, and each computes its own elements of D.
PROGRAM = Template("""
#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>
#define __global__
#define __device__ inline
#define __shared__ static
static thread_local struct item { int lane, wave, thread, x, y; } self;
static std::barrier<> *wave_barrier[16], *all_barrier;
#define __builtin_amdgcn_workitem_id_x() self.thread
#define __builtin_amdgcn_workgroup_id_x() self.x
#define __builtin_amdgcn_workgroup_id_y() self.y
#define __builtin_amdgcn_fence(order, scope)
#define __builtin_amdgcn_s_barrier() all_barrier->arrive_and_wait()
$tables
template <class A, class B, class C> C multiply(A a, B b, C c);
#define $builtin($names) multiply($values)
$source
static element wave_a[16][$m][$k], wave_b[16][$k][$n];
template <class A, class B, class C> C multiply(A a, B b, C c) {
    for (auto &at : places_a[self.lane]) wave_a[self.wave][at[1]][at[2]] = ((const element *)&a)[at[0]];
    for (auto &at : places_b[self.lane]) wave_b[self.wave][at[1]][at[2]] = ((const element *)&b)[at[0]];
    wave_barrier[self.wave]->arrive_and_wait();
    for (auto &at : places_d[self.lane])
        for (int k = 0; k < $k; ++k)
            (($output *)&c)[at[0]] += wave_a[self.wave][at[1]][k] * wave_b[self.wave][k][at[2]];
    wave_barrier[self.wave]->arrive_and_wait();
    return c;
}
int main() {
    const int M = $M, N = $N, K = $K, lda = K + 3, ldb = K + 1, ldd = N + 2;
    std::vector<element> A(M * lda), B(N * ldb);
    std::vector<$output> D(M * ldd, -7), wanted(M * ldd, -7);
    for (int i = 0; i < M; ++i) for (int k = 0; k < K; ++k) A[i * lda + k] = (i * 3 + k * 5) % 7 - 3;
    for (int j = 0; j < N; ++j) for (int k = 0; k < K; ++k) B[j * ldb + k] = (j * 2 + k * 3) % 5 - 2;
    for (int i = 0; i < M; ++i) for (int j = 0; j < N; ++j) {
        double sum = 0;
        for (int k = 0; k < K; ++k) sum += (double)A[i * lda + k] * (double)B[j * ldb + k];
        wanted[i * ldd + j] = sum;
    }
    std::barrier all(THREADS);
    all_barrier = &all;
    for (int wave = 0; wave < THREADS / WAVE; ++wave) wave_barrier[wave] = new std::barrier<>(WAVE);
    for (int x = 0; x * BLOCK_M < M; ++x) for (int y = 0; y * BLOCK_N < N; ++y) {
        std::vector<std::thread> work_items;
        for (int t = 0; t < THREADS; ++t)
            work_items.emplace_back([=, &A, &B, &D] {
                self = {t % WAVE, t / WAVE, t, x, y};
                $kernel(A.data(), B.data(), D.data(), M, N, K, lda, ldb, ldd);
            });
        for (auto &each : work_items) each.join();
    }
    int different = 0;
    for (int at = 0; at < M * ldd; ++at) different += D[at] != wanted[at];
    std::printf("%d", different);
}
""")


def places(inst, name, wave):
    """C text: for each lane (slot, row, column) of its elements."""
    operand = inst.operand(name, wave)
    lanes = [[] for _ in range(wave)]
    for i, j in np.ndindex(operand.shape[1:]):
        for place in operand.locate(**dict(zip(operand.axes[1:], (i, j)))):
            lanes[place.lane].append((place.item, i, j))
    rows = ",".join("{" + ",".join(f"{{{item},{i},{j}}}" for item, i, j in lane) + "}" for lane in lanes)
    return f"static const short places_{name.lower()}[{wave}][{len(lanes[0])}][3] = {{{rows}}};\n"


def different_elements(inst, wave, source, sizes, folder):
    """How many elements of D a generated GEMM gets wrong on small integers, padding between its rows included."""
    builtin = intrinsic(inst, wave)
    attribute = "__attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))"
    names = [f"x{n}" for n in range(len(builtin.arg_names))]
    program = PROGRAM.substitute(
        tables="".join(places(inst, name, wave) for name in "ABD"),
        source=source.partition("#endif")[2].replace(attribute, ""),
        builtin=builtin.builtin, names=", ".join(names), kernel=f"gemm_{inst.name[2:]}",
        values=", ".join(names[builtin.arg_names.index(name)] for name in "abc"),
        output={"f32": "float", "f64": "double", "i32": "int"}[inst.formats["D"]], **dict(zip("MNK", sizes)),
        m=inst.m, n=inst.n, k=inst.k,
    )  # fmt: skip
    binary = folder / "kernel"
    command = [tool("clang"), "-x", "c++", "-std=c++20", "-O1", "-w", "-o", binary, "-", "-lstdc++", "-lpthread", "-lm"]
    done = subprocess.run(command, input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return int(subprocess.run([binary], capture_output=True, text=True, check=True).stdout)

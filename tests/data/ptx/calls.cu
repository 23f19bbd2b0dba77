// Calls through a register: virtual functions, a table of functions, and a branch through a table.
typedef unsigned int u32;

struct Shape {
    u32 side;
    __device__ Shape(u32 s) : side(s) {}
    __device__ virtual u32 area(u32 scale) const = 0;
    __device__ virtual u32 edges() const { return 0; }
};
struct Square : Shape {
    __device__ Square(u32 s) : Shape(s) {}
    __device__ u32 area(u32 scale) const override { return side * side * scale; }
    __device__ u32 edges() const override { return 4; }
};
struct Cube : Shape {
    __device__ Cube(u32 s) : Shape(s) {}
    __device__ u32 area(u32 scale) const override {
        u32 sum = 0;
        for (u32 face = 0; face < 6; ++face) sum += side * side * scale + face;
        return sum;
    }
    __device__ u32 edges() const override { return 12; }
};

extern "C" __global__ void virtual_calls(u32 *out) {
    u32 t = threadIdx.x;
    Square square(t);
    Cube cube(t + 1);
    Shape *shape = t & 1 ? static_cast<Shape *>(&cube) : &square;
    if (t & 2) shape = &square;
    out[t] = shape->area(3) * 16 + shape->edges();
}

typedef u32 (*Function)(u32, u32);
__device__ __noinline__ u32 plus(u32 a, u32 b) { return a + b; }
__device__ __noinline__ u32 minus(u32 a, u32 b) { return a - b; }
__device__ __noinline__ u32 times(u32 a, u32 b) { return a * b; }
__device__ Function table[] = {plus, minus, times};

extern "C" __global__ void table_of_functions(const u32 *which, u32 *out) {
    u32 t = threadIdx.x;
    u32 found = table[which[t] % 3](t, 7);
    if (which[t] > 5) found = table[2](found, which[t]);
    out[t] = found;
}

// Kernels of the emulator's tests. kernels.ll beside is made from it, by a clang with NVPTX and no CUDA toolkit:
//   clang++ -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -O2 -gline-tables-only -S -emit-llvm \
//     -fno-vectorize -fdebug-compilation-dir=. kernels.cu -o kernels.ll
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device)) inline
#define SHARED __attribute__((shared))
#define BARRIER() __nvvm_bar_sync(0)
typedef unsigned short u16;

DEVICE int tid() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int bid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE float exp2Approx(float x) { return __nvvm_ex2_approx_ftz_f(x); }
DEVICE float larger(float x, float y) { return x > y ? x : y; }

DEVICE float warpSum(float x) {
  for (int i = 16; i; i /= 2)
    x += __nvvm_shfl_sync_bfly_f32(~0u, x, i, 31);
  return x;
}
DEVICE float warpMax(float x) {
  for (int i = 16; i; i /= 2)
    x = larger(x, __nvvm_shfl_sync_bfly_f32(~0u, x, i, 31));
  return x;
}

// The sum over a block of up to 1024 threads, for all of them.
DEVICE float blockSum(float x, float *partial) {
  x = warpSum(x);
  BARRIER(); // of the last use
  if (tid() % 32 == 0)
    partial[tid() / 32] = x;
  BARRIER();
  float all = 0;
  for (int i = 0; i < threads() / 32; ++i)
    all += partial[i];
  return all;
}

KERNEL scale(float *out, const float *in, float factor, int n) {
  int i = bid() * threads() + tid();
  if (i < n)
    out[i] = in[i] * factor;
}

typedef float float4_ __attribute__((ext_vector_type(4)));
// Four at a time, and the rest by single threads.
KERNEL scale4(float *out, const float *in, float factor, int n) {
  int i = (bid() * threads() + tid()) * 4;
  if (i + 4 <= n) {
    float4_ x = *(const float4_ *)(in + i);
    *(float4_ *)(out + i) = x * factor;
  } else {
    for (; i < n; ++i)
      out[i] = in[i] * factor;
  }
}

KERNEL softmax(float *out, const float *in, int columns) {
  SHARED static float partial[32];
  SHARED static float peak[32];
  const float *row = in + bid() * columns;
  float top = -__builtin_huge_valf();
  for (int i = tid(); i < columns; i += threads())
    top = larger(top, row[i]);
  top = warpMax(top);
  if (tid() % 32 == 0)
    peak[tid() / 32] = top;
  BARRIER();
  for (int i = 0; i < threads() / 32; ++i)
    top = larger(top, peak[i]);
  float sum = 0;
  for (int i = tid(); i < columns; i += threads())
    sum += exp2Approx((row[i] - top) * 1.44269504f);
  sum = blockSum(sum, partial);
  for (int i = tid(); i < columns; i += threads())
    out[bid() * columns + i] = exp2Approx((row[i] - top) * 1.44269504f) / sum;
}

KERNEL layerNorm(float *out, const float *in, const float *weight, const float *bias, int columns) {
  SHARED static float partial[32];
  const float *row = in + bid() * columns;
  float sum = 0;
  for (int i = tid(); i < columns; i += threads())
    sum += row[i];
  float mean = blockSum(sum, partial) / columns;
  float squares = 0;
  for (int i = tid(); i < columns; i += threads())
    squares += (row[i] - mean) * (row[i] - mean);
  float scale = __nvvm_rsqrt_approx_f(blockSum(squares, partial) / columns + 1e-5f);
  for (int i = tid(); i < columns; i += threads())
    out[bid() * columns + i] = (row[i] - mean) * scale * weight[i] + bias[i];
}

// Tiles of 32 x 32, 8 rows at a time, through shared memory whose rows are 33 wide.
KERNEL transpose(float *out, const float *in, int rows, int columns) {
  SHARED static float tile[32 * 33];
  int x = tid() % 32, y = tid() / 32;
  int column = __nvvm_read_ptx_sreg_ctaid_x() * 32 + x, row = __nvvm_read_ptx_sreg_ctaid_y() * 32 + y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < rows && column < columns)
      tile[(y + i) * 33 + x] = in[(row + i) * columns + column];
  BARRIER();
  column = __nvvm_read_ptx_sreg_ctaid_y() * 32 + x;
  row = __nvvm_read_ptx_sreg_ctaid_x() * 32 + y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < columns && column < rows)
      out[(row + i) * rows + column] = tile[x * 33 + y + i];
}

// A tree in dynamic shared memory, one partial sum for each block.
extern SHARED float dynamic[];
KERNEL treeSum(float *out, const float *in, int n) {
  int i = bid() * threads() + tid();
  dynamic[tid()] = i < n ? in[i] : 0;
  for (int half = threads() / 2; half; half /= 2) {
    BARRIER();
    if (tid() < half)
      dynamic[tid()] += dynamic[tid() + half];
  }
  if (tid() == 0)
    out[bid()] = dynamic[0];
}

// Two stages of asynchronous copies; each thread uses what its neighbour copied.
KERNEL asyncScale(float *out, const float *in, int tiles) {
  SHARED static float stage[2][256] __attribute__((aligned(16)));
  int t = tid();
  auto fetch = [&](int tile) {
    if (tile < tiles && t < 64)
      __nvvm_cp_async_cg_shared_global_16((__attribute__((address_space(3))) char *)&stage[tile % 2][t * 4],
                                          (__attribute__((address_space(1))) const char *)(in + tile * 256 + t * 4));
    __nvvm_cp_async_commit_group();
  };
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    __nvvm_cp_async_wait_group(1);
    BARRIER();
    out[tile * 256 + t] = stage[tile % 2][255 - t] * 2;
    BARRIER();
  }
}

KERNEL histogram(unsigned *bins, const int *in, int n) {
  SHARED static unsigned local[16];
  if (tid() < 16)
    local[tid()] = 0;
  BARRIER();
  int i = bid() * threads() + tid();
  if (i < n)
    __nvvm_atom_add_gen_i((int *)&local[in[i] & 15], 1);
  BARRIER();
  if (tid() < 16)
    __nvvm_atom_add_gen_i((int *)&bins[tid()], local[tid()]);
}

// Each warp turns its own 32 values around, with barriers of the warp alone.
KERNEL reverseWarps(float *out, const float *in) {
  SHARED static float values[256];
  values[tid()] = in[bid() * threads() + tid()];
  __nvvm_bar_warp_sync(~0u);
  out[bid() * threads() + tid()] = values[tid() ^ 31];
}

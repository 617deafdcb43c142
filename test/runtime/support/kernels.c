/* Kernels of the test artifacts; see support/TestProgram.h. */
#include <stdint.h>

/* out[i] = a[i] + b[i] */
void add(void *const *buffers, int64_t begin, int64_t end, void *scratch) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] + b[i];
}

/* out[i] = a[i] * scale[0] */
void scale(void *const *buffers, int64_t begin, int64_t end, void *scratch) {
  const float *a = buffers[0], *factor = buffers[1];
  float *out = buffers[2];
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] * factor[0];
}

/* out[0] = the sum of table[indices[i]] over 4 indices */
void pick(void *const *buffers, int64_t begin, int64_t end, void *scratch) {
  const float *table = buffers[0];
  const int32_t *indices = buffers[1];
  float *out = buffers[2];
  for (int64_t item = begin; item < end; ++item) {
    float sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += table[indices[i]];
    out[item] = sum;
  }
}

/* out[i] = a[i], by way of 1 KiB of scratch */
void through(void *const *buffers, int64_t begin, int64_t end, void *scratch) {
  const float *a = buffers[0];
  float *out = buffers[1];
  volatile float *middle = scratch;
  for (int64_t i = begin; i < end; ++i)
    middle[i % 256] = a[i], out[i] = middle[i % 256];
}
/* As the compiler records it. */
extern const uint64_t through_scratch __asm__("through.scratch");
const uint64_t through_scratch = 1024;

/* count + 1 */
void count(void *const *buffers, int64_t begin, int64_t end, void *scratch) {
  const int64_t *in = buffers[0];
  int64_t *out = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = in[i] + 1;
}

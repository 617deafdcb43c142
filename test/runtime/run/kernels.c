/* A language model without a standard library: row x of w guesses the one-hot of what
 * follows token x; squared error, one pass of gradient steps. See TableModel.h. */
#include <stdint.h>

enum { kVocabulary = 256, kPositions = 4 * 16 };

static uint32_t mix(uint32_t a, uint32_t b) {
  a = (a ^ b) * 0x9E3779B1u;
  return (a ^ (a >> 15)) * 0x85EBCA77u;
}

static float squaredError(const float *row, int32_t target) {
  float sum = 0;
  for (int j = 0; j < kVocabulary; ++j) {
    float d = row[j] - (j == target);
    sum += d * d;
  }
  return sum;
}

static float meanError(const float *w, const int32_t *x, const int32_t *y) {
  float sum = 0;
  for (int i = 0; i < kPositions; ++i)
    sum += squaredError(w + x[i] * kVocabulary, y[i]);
  return sum / kPositions;
}

/* key -> w, count */
void init(void *const *buffers, int64_t begin, int64_t end) {
  const uint32_t *key = buffers[0];
  float *w = buffers[1];
  for (int i = 0; i < kVocabulary * kVocabulary; ++i)
    w[i] = (float)(mix(mix(key[0], key[1]), (uint32_t)i) >> 8) / 16777216.0f * 0.1f;
  *(int64_t *)buffers[2] = 0;
}

/* w, count, x, y, key -> w, count, loss, grad_norm, learning_rate, finite; in place.
 * The key decides which positions are left out. */
void train_step(void *const *buffers, int64_t begin, int64_t end) {
  const int32_t *x = buffers[2], *y = buffers[3];
  const uint32_t *key = buffers[4];
  float *w = buffers[5];
  float loss = meanError(w, x, y), norm = 0;
  int finite = loss - loss == 0;
  for (int i = 0; finite && i < kPositions; ++i) {
    if (mix(mix(key[0], key[1]), (uint32_t)i) % 4 == 0)
      continue;
    float *row = w + x[i] * kVocabulary;
    for (int j = 0; j < kVocabulary; ++j) {
      float d = row[j] - (j == y[i]);
      norm += d * d;
      row[j] -= 0.25f * d;
    }
  }
  *(int64_t *)buffers[6] += finite;
  *(float *)buffers[7] = loss;
  *(float *)buffers[8] = norm;
  *(float *)buffers[9] = 0.25f;
  *(uint8_t *)buffers[10] = (uint8_t)finite;
}

/* w, x, y -> loss, tokens */
void eval_loss(void *const *buffers, int64_t begin, int64_t end) {
  *(float *)buffers[3] = meanError(buffers[0], buffers[1], buffers[2]);
  *(float *)buffers[4] = kPositions;
}

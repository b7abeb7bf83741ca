/* Normal numbers of single precision from words of a Mersenne twister, the bits that PyTorch draws.
 *
 * The formulas are those of draws/sampling.py, which has their source: Box and Muller's method with
 * S. Moshier's logarithm, sine and cosine of single precision (Cephes), where a product and the sum
 * that it is part of are rounded once. The file is compiled so that nothing else is
 * (-ffp-contract=off). Eight numbers are computed side by side, which compilers make vector code
 * of.
 */
#include "native.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif
#define SIDE 8 /* numbers side by side; a block is so many radii, then so many angles */

static const float LOG[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                            -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                            2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
static const float SINE[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
static const float COSINE[] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                               4.166664568298827e-2f};
static const float QUARTER[] = {-0.78515625f, -2.4187564849853515625e-4f,
                                -3.77489497744594108e-8f}; /* their sum is -pi/4 */
static const float LOG2_LOW = -2.12194440e-4f, LOG2_HIGH = 0.693359375f,
                   SQRT_HALF = 0.70710678118654752440f;
static const float FOUR_BY_PI = 1.27323954473516268615f, TWO_PI = 6.28318530717958647692f;

static ALWAYS_INLINE void blocks_of(const uint32_t *restrict words, float *restrict out,
                                    npy_intp blocks) {
    for (npy_intp b = 0; b < blocks; b++, words += 2 * SIDE, out += 2 * SIDE) {
        const float digits = 5.9604644775390625e-8f; /* 2 ** -24 */
        float u[SIDE], v[SIDE], m[SIDE], radius[SIDE];
        int32_t bits[SIDE], exponents[SIDE];
        for (int i = 0; i < SIDE; i++) u[i] = 1.0f - (float)(int32_t)(words[i] & 0xFFFFFF) * digits;
        for (int i = 0; i < SIDE; i++)
            v[i] = TWO_PI * ((float)(int32_t)(words[SIDE + i] & 0xFFFFFF) * digits);
        /* The logarithm of u, from its mantissa in [0.5, 1) and its exponent. */
        memcpy(bits, u, sizeof(bits));
        for (int i = 0; i < SIDE; i++) {
            exponents[i] = (bits[i] >> 23) - 126;
            bits[i] = (bits[i] & 0x7FFFFF) | 0x3F000000;
        }
        memcpy(m, bits, sizeof(m));
        for (int i = 0; i < SIDE; i++) {
            const int32_t small = m[i] < SQRT_HALF;
            const float e = (float)(exponents[i] - small),
                        x = (m[i] - 1.0f) + (small ? m[i] : 0.0f), xx = x * x;
            float y = fmaf(x, LOG[0], LOG[1]);
            y = fmaf(y, x, LOG[2]);
            y = fmaf(y, x, LOG[3]);
            y = fmaf(y, x, LOG[4]);
            y = fmaf(y, x, LOG[5]);
            y = fmaf(y, x, LOG[6]);
            y = fmaf(y, x, LOG[7]);
            y = fmaf(y, x, LOG[8]) * x;
            y = fmaf(y, xx, e * LOG2_LOW) - xx * 0.5f;
            radius[i] = sqrtf(-2.0f * fmaf(e, LOG2_HIGH, x + y));
        }
        /* The sine and cosine of v, from its octant. */
        for (int i = 0; i < SIDE; i++) {
            const int32_t octant = ((int32_t)(v[i] * FOUR_BY_PI) + 1) & ~1;
            const float turns = (float)octant,
                        z = fmaf(turns, QUARTER[2],
                                 fmaf(turns, QUARTER[1], fmaf(turns, QUARTER[0], v[i]))),
                        zz = z * z;
            float cosine = fmaf(fmaf(zz, COSINE[0], COSINE[1]), zz, COSINE[2]) * zz;
            cosine = fmaf(cosine, zz, zz * -0.5f) + 1.0f;
            const float sine = fmaf(fmaf(fmaf(zz, SINE[0], SINE[1]), zz, SINE[2]) * zz, z, z);
            const float s = (octant & 2) ? cosine : sine, c = (octant & 2) ? sine : cosine;
            out[i] = radius[i] * (((octant + 2) & 4) ? -c : c);
            out[SIDE + i] = radius[i] * ((octant & 4) ? -s : s);
        }
    }
}

static void by_any(const uint32_t *words, float *out, npy_intp blocks) {
    blocks_of(words, out, blocks);
}

/* One more copy for processors that multiply and add at once. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"))) static void by_vectors(const uint32_t *words, float *out,
                                                           npy_intp blocks) {
    blocks_of(words, out, blocks);
}

static void normal_blocks(const uint32_t *words, float *out, npy_intp blocks) {
    (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? by_vectors
                                                                     : by_any)(words, out, blocks);
}
#else
#define normal_blocks by_any
#endif

static PyObject *normal(PyObject *module, PyObject *given) {
    (void)module;
    PyArrayObject *words = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_TYPE(words) != NPY_UINT32 || PyArray_NDIM(words) != 1 ||
        PyArray_SIZE(words) % (2 * SIDE) || !PyArray_ISNOTSWAPPED(words) ||
        !PyArray_CHKFLAGS(words, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) {
        PyErr_SetString(PyExc_TypeError, "normal() takes words of 32 bits, in blocks of 16");
        return NULL;
    }
    npy_intp count = PyArray_SIZE(words);
    PyObject *made = PyArray_SimpleNew(1, &count, NPY_FLOAT32);
    if (made == NULL) return NULL;
    const uint32_t *from = (const uint32_t *)PyArray_DATA(words);
    float *to = (float *)PyArray_DATA((PyArrayObject *)made);
    if (count < 4096)
        normal_blocks(from, to, count / (2 * SIDE));
    else {
        Py_BEGIN_ALLOW_THREADS normal_blocks(from, to, count / (2 * SIDE));
        Py_END_ALLOW_THREADS
    }
    return made;
}

static PyMethodDef FUNCTIONS[] = {
    {"normal", normal, METH_O,
     "normal(words): normal numbers of single precision, in blocks of 16."},
    {NULL, NULL, 0, NULL},
};

int add_draws(PyObject *module) { return PyModule_AddFunctions(module, FUNCTIONS); }

/* Images and volumes sampled at the places of a grid.
 *
 * The formulas of ops/grid_sampling.py in its order of operations, so that the bits are those of
 * its NumPy. Of a tile of places the neighbours and their weights are computed once, and then each
 * channel is read.
 */
#include "native.h"

#include <math.h>
#include <stdint.h>

#define TILE 128
#define MOST 16 /* neighbours of a place: 4 * 4, or 2 * 2 * 2 */

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct {
    npy_intp batch, channels, points, size[3], plane;
    int n, mode, padding, align;
} Sampling;

#define SAMPLED(T, F, WAY)                                                                         \
    typedef struct {                                                                               \
        int32_t at[MOST][TILE], inside[MOST][TILE];                                                \
        T weight[MOST][TILE];                                                                      \
    } Tile##WAY##T;                                                                                \
                                                                                                   \
    static ALWAYS_INLINE T clipped##WAY##T(T x, T last) { /* NaN is at 0 */                        \
        x = x > 0 ? x : 0;                                                                         \
        return x < last ? x : last;                                                                \
    }                                                                                              \
                                                                                                   \
    static ALWAYS_INLINE T placed##WAY##T(T x, T size, int padding, int align) {                   \
        if (padding == ZEROS) return x;                                                            \
        if (padding == REFLECTION) {                                                               \
            const T low = align ? (T)0 : (T)-0.5, span = align ? size - 1 : size,                  \
                    away = fabs##F(x - low), turns = floor##F(away / span),                        \
                    rest = away - turns * span, half = turns * (T)0.5;                             \
            x = span <= 0 ? 0 : (half != floor##F(half) ? span - rest : rest) + low;               \
        }                                                                                          \
        return clipped##WAY##T(x, size - 1);                                                       \
    }                                                                                              \
                                                                                                   \
    /* Of one coordinate of all places: the neighbours, and their weights. */                      \
    static ALWAYS_INLINE void neighbours##WAY##T(const T *grid, npy_intp step, T size, T (*at)[TILE], \
                                                 T (*weight)[TILE], int points, const int mode,    \
                                                 const int padding, const int align) {             \
        for (int p = 0; p < points; p++) {                                                         \
            T x = grid[p * step] + 1;                                                              \
            x = align ? x / 2 * (size - 1) : (x * size - 1) / 2;                                   \
            if (mode != BICUBIC) x = placed##WAY##T(x, size, padding, align);                      \
            if (mode == NEAREST) {                                                                 \
                at[0][p] = rint##F(x);                                                             \
                weight[0][p] = 1;                                                                  \
                continue;                                                                          \
            }                                                                                      \
            const T low = floor##F(x), part = x - low;                                             \
            if (mode == BILINEAR) {                                                                \
                at[0][p] = low;                                                                    \
                at[1][p] = low + 1;                                                                \
                weight[0][p] = fabs##F(1 - part);                                                  \
                weight[1][p] = fabs##F(part);                                                      \
                continue;                                                                          \
            }                                                                                      \
            const T a = (T)-0.75;                                                                  \
            for (int i = 0; i < 4; i++) {                                                          \
                const T y = fabs##F((T)(i - 1) - part),                                            \
                        place = placed##WAY##T(low + (i - 1), size, padding, align);               \
                at[i][p] = padding == ZEROS ? place : floor##F(place);                             \
                weight[i][p] = i == 1 || i == 2 ? ((a + 2) * y - (a + 3)) * y * y + 1              \
                                                : ((a * y - 5 * a) * y + 8 * a) * y - 4 * a;       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The neighbours of all dimensions, combined: the last dimension's change fastest. */         \
    static ALWAYS_INLINE void prepared##WAY##T(const T *grid, const Sampling *s, Tile##WAY##T *tile, \
                                               int points, const int mode, const int padding,      \
                                               const int align) {                                  \
        const int several = mode == NEAREST ? 1 : mode == BILINEAR ? 2 : 4;                        \
        int count = 1;                                                                             \
        for (int p = 0; p < points; p++) {                                                         \
            tile->at[0][p] = 0;                                                                    \
            tile->inside[0][p] = 1;                                                                \
            tile->weight[0][p] = 1;                                                                \
        }                                                                                          \
        for (int d = 0; d < s->n; d++, count *= several) {                                         \
            T at[4][TILE], weight[4][TILE];                                                        \
            const T last = (T)(s->size[d] - 1);                                                    \
            const int32_t size = (int32_t)s->size[d];                                              \
            neighbours##WAY##T(grid + s->n - 1 - d, s->n, (T)size, at, weight, points, mode,       \
                               padding, align);                                                    \
            for (int k = count - 1; k >= 0; k--) /* from behind: in the same arrays */             \
                for (int i = several - 1; i >= 0; i--) {                                           \
                    const int to = k * several + i;                                                \
                    for (int p = 0; p < points; p++) {                                             \
                        const T x = at[i][p];                                                      \
                        tile->at[to][p] =                                                          \
                            tile->at[k][p] * size + (int32_t)clipped##WAY##T(x, last);             \
                        tile->inside[to][p] = tile->inside[k][p] & (x >= 0) & (x <= last);         \
                        tile->weight[to][p] = tile->weight[k][p] * weight[i][p];                   \
                    }                                                                              \
                }                                                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static ALWAYS_INLINE void read##WAY##T(const T *plane, T *out, const Tile##WAY##T *tile,       \
                                           int points, const int count) {                          \
        for (int p = 0; p < points; p++) {                                                         \
            T total = 0;                                                                           \
            for (int k = 0; k < count; k++) {                                                      \
                const T value = plane[tile->at[k][p]], found = tile->inside[k][p] ? value : 0;     \
                total = count == 1 ? found                                                         \
                        : k        ? total + found * tile->weight[k][p]                            \
                                   : found * tile->weight[k][p];                                   \
            }                                                                                      \
            out[p] = total;                                                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static ALWAYS_INLINE void way##WAY##T(const T *input, const T *grid, T *out, const Sampling *s, \
                                          const int mode, const int padding, const int align,      \
                                          const int count) {                                       \
        Tile##WAY##T tile;                                                                         \
        for (npy_intp b = 0; b < s->batch; b++)                                                    \
            for (npy_intp first = 0; first < s->points; first += TILE) {                           \
                const int points = (int)(s->points - first < TILE ? s->points - first : TILE);     \
                prepared##WAY##T(grid + (b * s->points + first) * s->n, s, &tile, points, mode,    \
                                 padding, align);                                                  \
                for (npy_intp c = b * s->channels; c < (b + 1) * s->channels; c++)                 \
                    read##WAY##T(input + c * s->plane, out + c * s->points + first, &tile, points, \
                                 count);                                                           \
            }                                                                                      \
    }                                                                                              \
                                                                                                   \
    /* What is constant is known to each copy, so that its loops become vector code. */            \
    WAY static void sampled##WAY##T(const T *input, const T *grid, T *out, const Sampling *s) {    \
        const int zeros = s->padding == ZEROS, flat = s->n == 2;                                   \
        if (s->mode == NEAREST)                                                                    \
            way##WAY##T(input, grid, out, s, NEAREST, s->padding, s->align, 1);                    \
        else if (s->mode == BICUBIC)                                                               \
            way##WAY##T(input, grid, out, s, BICUBIC, s->padding, s->align, 16);                   \
        else if (flat && zeros)                                                                    \
            way##WAY##T(input, grid, out, s, BILINEAR, ZEROS, s->align, 4);                        \
        else if (flat)                                                                             \
            way##WAY##T(input, grid, out, s, BILINEAR, s->padding, s->align, 4);                   \
        else                                                                                       \
            way##WAY##T(input, grid, out, s, BILINEAR, s->padding, s->align, 8);                   \
    }

#define PLAIN
SAMPLED(float, f, PLAIN)
SAMPLED(double, , PLAIN)

/* One more copy for processors that gather and round by vectors. */
#if defined(__x86_64__) && defined(__GNUC__)
#define VECTORS __attribute__((target("avx2")))
SAMPLED(float, f, VECTORS)
SAMPLED(double, , VECTORS)

static void sample(int single, const void *input, const void *grid, void *out, const Sampling *s) {
    if (__builtin_cpu_supports("avx2")) {
        if (single)
            sampledVECTORSfloat(input, grid, out, s);
        else
            sampledVECTORSdouble(input, grid, out, s);
    } else if (single)
        sampledPLAINfloat(input, grid, out, s);
    else
        sampledPLAINdouble(input, grid, out, s);
}
#else
static void sample(int single, const void *input, const void *grid, void *out, const Sampling *s) {
    if (single)
        sampledPLAINfloat(input, grid, out, s);
    else
        sampledPLAINdouble(input, grid, out, s);
}
#endif

static PyObject *sampled(PyObject *self, PyObject *args) {
    PyArrayObject *given, *places;
    Sampling s;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!iii", &PyArray_Type, &given, &PyArray_Type, &places, &s.mode,
                          &s.padding, &s.align))
        return NULL;
    const int type = PyArray_TYPE(given);
    s.n = PyArray_NDIM(given) - 2;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_TYPE(places) != type ||
        PyArray_NDIM(places) != 3 || s.n < 2 || s.n > 3 || PyArray_DIM(places, 2) != s.n ||
        PyArray_DIM(places, 0) != PyArray_DIM(given, 0) || s.mode < 0 || s.mode > BICUBIC ||
        (s.mode == BICUBIC && s.n == 3)) {
        PyErr_SetString(PyExc_ValueError, "such arrays cannot be sampled");
        return NULL;
    }
    s.batch = PyArray_DIM(given, 0);
    s.channels = PyArray_DIM(given, 1);
    s.points = PyArray_DIM(places, 1);
    s.plane = 1;
    for (int d = 0; d < s.n; d++) s.plane *= s.size[d] = PyArray_DIM(given, d + 2);
    const int kept = NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED;
    PyArrayObject *input = (PyArrayObject *)PyArray_FROM_OF((PyObject *)given, kept),
                  *grid = (PyArrayObject *)PyArray_FROM_OF((PyObject *)places, kept);
    const npy_intp shape[] = {s.batch, s.channels, s.points};
    PyObject *made = PyArray_SimpleNew(3, shape, type);
    if (input != NULL && grid != NULL && made != NULL && s.plane > 0 && s.plane <= INT32_MAX) {
        void *out = PyArray_DATA((PyArrayObject *)made);
        Py_BEGIN_ALLOW_THREADS
        sample(type == NPY_FLOAT, PyArray_DATA(input), PyArray_DATA(grid), out, &s);
        Py_END_ALLOW_THREADS
    } else if (!PyErr_Occurred()) {
        Py_CLEAR(made);
        PyErr_SetString(PyExc_ValueError, "no planes of this size are sampled");
    }
    Py_XDECREF(input);
    Py_XDECREF(grid);
    if (PyErr_Occurred()) Py_CLEAR(made);
    return made;
}

static PyMethodDef METHODS[] = {
    {"sampled", sampled, METH_VARARGS,
     "sampled(input, grid, mode, padding, align_corners): input (N, C, *size) at the places of grid "
     "(N, P, n), (N, C, P). Of float32 and float64."},
    {NULL, NULL, 0, NULL},
};

int add_sampling(PyObject *module) { return PyModule_AddFunctions(module, METHODS); }

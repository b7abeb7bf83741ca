/* Running sums and products along one dimension of an array, in one pass.
 *
 * Numbers of single precision are added up and multiplied in double precision and rounded where
 * they are stored, as PyTorch's are. Several sums that do not wait for each other go side by side:
 * those of neighbouring columns, which compilers make vector code of, or of neighbouring rows.
 */
#include "native.h"

#include <stdint.h>

#define ROWS 8      /* rows side by side */
#define COLUMNS 256 /* columns side by side: their sums stay in the nearest cache */

/* For one type of numbers, with the type that it is accumulated in: ``outer`` blocks of ``n`` rows
 * of ``inner`` numbers, along the rows' dimension. */
#define RUNNING(NAME, T, WIDE, OP, START)                                                          \
    static void NAME##_columns(const T *restrict x, T *restrict out, npy_intp n, npy_intp inner,   \
                               npy_intp step) {                                                    \
        for (npy_intp begin = 0; begin < inner; begin += COLUMNS) {                                \
            const npy_intp width = inner - begin < COLUMNS ? inner - begin : COLUMNS;              \
            WIDE acc[COLUMNS];                                                                     \
            const T *from = x + begin;                                                             \
            T *to = out + begin;                                                                   \
            for (npy_intp c = 0; c < width; c++) acc[c] = START;                                   \
            for (npy_intp i = 0; i < n; i++, from += step, to += step)                             \
                for (npy_intp c = 0; c < width; c++) {                                             \
                    acc[c] = acc[c] OP from[c];                                                    \
                    to[c] = (T)acc[c];                                                             \
                }                                                                                  \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_rows(const T *restrict x, T *restrict out, npy_intp rows, npy_intp n,       \
                            npy_intp step) {                                                       \
        npy_intp r = 0;                                                                            \
        for (; r + ROWS <= rows; r += ROWS) {                                                      \
            WIDE acc[ROWS];                                                                        \
            for (int k = 0; k < ROWS; k++) acc[k] = START;                                         \
            const T *from = x + r * n;                                                             \
            T *to = out + r * n;                                                                   \
            for (npy_intp i = 0; i < n; i++, from += step, to += step)                             \
                for (int k = 0; k < ROWS; k++) {                                                   \
                    acc[k] = acc[k] OP from[k * n];                                                \
                    to[k * n] = (T)acc[k];                                                         \
                }                                                                                  \
        }                                                                                          \
        for (; r < rows; r++) {                                                                    \
            WIDE acc = START;                                                                      \
            const T *from = x + r * n;                                                             \
            T *to = out + r * n;                                                                   \
            for (npy_intp i = 0; i < n; i++, from += step, to += step)                             \
                *to = (T)(acc = acc OP * from);                                                    \
        }                                                                                          \
    }                                                                                              \
    static void NAME(const void *x, void *out, npy_intp outer, npy_intp n, npy_intp inner,         \
                     int reverse) {                                                                \
        const npy_intp first = reverse ? (n - 1) * inner : 0, step = reverse ? -inner : inner;     \
        if (inner == 1)                                                                            \
            NAME##_rows((const T *)x + first, (T *)out + first, outer, n, step);                   \
        else                                                                                       \
            for (npy_intp o = 0; o < outer; o++)                                                   \
                NAME##_columns((const T *)x + o * n * inner + first,                               \
                               (T *)out + o * n * inner + first, n, inner, step);                  \
    }

/* Integers wrap around: unsigned ones, of which the bits are the same. */
RUNNING(sums_of_floats, float, double, +, 0.0)
RUNNING(sums_of_doubles, double, double, +, 0.0)
RUNNING(sums_of_ints, uint32_t, uint32_t, +, 0)
RUNNING(sums_of_longs, uint64_t, uint64_t, +, 0)
RUNNING(products_of_floats, float, double, *, 1.0)
RUNNING(products_of_doubles, double, double, *, 1.0)
RUNNING(products_of_ints, uint32_t, uint32_t, *, 1)
RUNNING(products_of_longs, uint64_t, uint64_t, *, 1)

typedef void (*Loop)(const void *, void *, npy_intp, npy_intp, npy_intp, int);

static Loop loop_of(int type, int product) {
    switch (type) {
    case NPY_FLOAT: return product ? products_of_floats : sums_of_floats;
    case NPY_DOUBLE: return product ? products_of_doubles : sums_of_doubles;
    default: break;
    }
    if (!PyTypeNum_ISINTEGER(type)) return NULL;
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    const npy_intp size = descr == NULL ? 0 : PyDataType_ELSIZE(descr);
    Py_XDECREF(descr);
    if (size == 4) return product ? products_of_ints : sums_of_ints;
    if (size == 8) return product ? products_of_longs : sums_of_longs;
    return NULL;
}

static PyObject *running(PyObject *self, PyObject *args) {
    PyArrayObject *x, *given;
    int axis, product, reverse;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!ipp", &PyArray_Type, &given, &axis, &product, &reverse))
        return NULL;
    const Loop loop = loop_of(PyArray_TYPE(given), product);
    if (loop == NULL || axis < 0 || axis >= PyArray_NDIM(given) || !PyArray_ISNOTSWAPPED(given)) {
        PyErr_SetString(PyExc_ValueError, "no running sums of such an array");
        return NULL;
    }
    x = (PyArrayObject *)PyArray_FROM_OF((PyObject *)given, NPY_ARRAY_CARRAY_RO);
    if (x == NULL) return NULL;
    PyObject *out = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
    if (out != NULL && PyArray_SIZE(x)) {
        npy_intp outer = 1, inner = 1;
        for (int d = 0; d < axis; d++) outer *= PyArray_DIM(x, d);
        for (int d = axis + 1; d < PyArray_NDIM(x); d++) inner *= PyArray_DIM(x, d);
        Py_BEGIN_ALLOW_THREADS
        loop(PyArray_DATA(x), PyArray_DATA((PyArrayObject *)out), outer, PyArray_DIM(x, axis),
             inner, reverse);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(x);
    return out;
}

static PyMethodDef METHODS[] = {
    {"running", running, METH_VARARGS,
     "running(x, axis, product, reverse): sums, or products, of the numbers up to each along an "
     "axis, or from it on. Of float32, float64, and integers of 4 and 8 bytes."},
    {NULL, NULL, 0, NULL},
};

int add_running(PyObject *module) { return PyModule_AddFunctions(module, METHODS); }

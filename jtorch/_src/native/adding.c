/* Numbers added at places along one dimension of an array, one after another in the order of their
 * memory, as PyTorch does it. */
#include "native.h"

#include <stdint.h>

#define MOST_DIMS 64

/* A row of numbers, of which the places along the axis stand in ``at``: ``across`` says how far
 * apart neighbours lie that have one place, and ``along`` how far places do. Places out of range
 * are moved into it: an error is on its way, but memory must not suffer. */
#define ROW(NAME, T, INDEX)                                                                        \
    static void NAME(void *into, const void *places, const void *numbers, npy_intp count,          \
                     npy_intp across, npy_intp along, npy_intp last) {                             \
        T *out = into;                                                                             \
        const INDEX *at = places;                                                                  \
        const T *given = numbers;                                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            npy_intp place = (npy_intp)at[i];                                                      \
            place = place < 0 ? 0 : place > last ? last : place;                                   \
            T *to = out + i * across + place * along;                                              \
            *to = (T)(*to + given[i]);                                                             \
        }                                                                                          \
    }
#define ROWS(NAME, T) ROW(NAME##_at_ints, T, int32_t) ROW(NAME##_at_longs, T, int64_t)

ROWS(floats, float)
ROWS(doubles, double)
ROWS(bytes, uint8_t) /* integers wrap around: the bits are those of unsigned ones */
ROWS(shorts, uint16_t)
ROWS(ints, uint32_t)
ROWS(longs, uint64_t)

typedef void (*Row)(void *, const void *, const void *, npy_intp, npy_intp, npy_intp, npy_intp);

static Row row_of(int type, npy_intp size, int wide) {
    if (type == NPY_FLOAT) return wide ? floats_at_longs : floats_at_ints;
    if (type == NPY_DOUBLE) return wide ? doubles_at_longs : doubles_at_ints;
    if (!PyTypeNum_ISINTEGER(type)) return NULL;
    switch (size) {
    case 1: return wide ? bytes_at_longs : bytes_at_ints;
    case 2: return wide ? shorts_at_longs : shorts_at_ints;
    case 4: return wide ? ints_at_longs : ints_at_ints;
    case 8: return wide ? longs_at_longs : longs_at_ints;
    default: return NULL;
    }
}

/* Adds all rows: those of the last dimension, one after another. */
static void add_all(Row row, char *out, const npy_intp *strides, npy_intp last, npy_intp size,
                    const char *at, npy_intp width, const char *numbers, int nd,
                    const npy_intp *dims, int axis) {
    npy_intp index[MOST_DIMS] = {0}, rows = 1;
    const npy_intp count = dims[nd - 1], across = axis == nd - 1 ? 0 : 1,
                   along = strides[axis] / size;
    for (int d = 0; d < nd - 1; d++) rows *= dims[d];
    for (npy_intp r = 0; r < rows; r++) {
        npy_intp begin = 0;
        for (int d = 0; d < nd - 1; d++)
            if (d != axis) begin += index[d] * strides[d];
        row(out + begin, at, numbers, count, across, along, last);
        at += count * width;
        numbers += count * size;
        for (int d = nd - 2; d >= 0 && ++index[d] == dims[d]; d--) index[d] = 0;
    }
}

static PyObject *add_along(PyObject *self, PyObject *args) {
    PyArrayObject *x, *given_places, *given_numbers;
    int axis;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!O!i", &PyArray_Type, &x, &PyArray_Type, &given_places,
                          &PyArray_Type, &given_numbers, &axis))
        return NULL;
    const int nd = PyArray_NDIM(x), kind = PyArray_TYPE(given_places);
    const npy_intp size = PyArray_ITEMSIZE(x), width = PyArray_ITEMSIZE(given_places);
    const Row row = row_of(PyArray_TYPE(x), size, width == 8);
    int fits = row != NULL && nd >= 1 && nd <= MOST_DIMS && axis >= 0 && axis < nd &&
               PyTypeNum_ISSIGNED(kind) && PyTypeNum_ISINTEGER(kind) && (width == 4 || width == 8) &&
               PyArray_TYPE(given_numbers) == PyArray_TYPE(x) && PyArray_ISCARRAY(x) &&
               PyArray_ISNOTSWAPPED(given_places) && PyArray_ISNOTSWAPPED(given_numbers) &&
               PyArray_NDIM(given_places) == nd && PyArray_NDIM(given_numbers) == nd;
    for (int d = 0; fits && d < nd; d++)
        fits = PyArray_DIM(given_places, d) == PyArray_DIM(given_numbers, d) &&
               (d == axis ? PyArray_DIM(x, d) > 0
                          : PyArray_DIM(given_places, d) <= PyArray_DIM(x, d));
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "numbers cannot be added at such places");
        return NULL;
    }
    PyArrayObject *places =
        (PyArrayObject *)PyArray_FROM_OF((PyObject *)given_places, NPY_ARRAY_CARRAY_RO);
    PyArrayObject *numbers =
        (PyArrayObject *)PyArray_FROM_OF((PyObject *)given_numbers, NPY_ARRAY_CARRAY_RO);
    if (places != NULL && numbers != NULL && PyArray_SIZE(places)) {
        Py_BEGIN_ALLOW_THREADS
        add_all(row, PyArray_DATA(x), PyArray_STRIDES(x), PyArray_DIM(x, axis) - 1, size,
                PyArray_DATA(places), width, PyArray_DATA(numbers), nd, PyArray_DIMS(places), axis);
        Py_END_ALLOW_THREADS
    }
    const int made = places != NULL && numbers != NULL;
    Py_XDECREF(places);
    Py_XDECREF(numbers);
    if (!made) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"add_along", add_along, METH_VARARGS,
     "add_along(x, places, numbers, axis): adds numbers to elements of x, each at its place along "
     "an axis and at its own in the other dimensions, one after another."},
    {NULL, NULL, 0, NULL},
};

int add_adding(PyObject *module) { return PyModule_AddFunctions(module, METHODS); }

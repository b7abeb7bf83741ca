/* Straight-line programs of NumPy's inner loops: many small calls of NumPy as one.
 *
 * A ufunc computes with inner loops, C functions that take pointers, a length and strides. Finding
 * the loop, looking at each operand and making each result takes NumPy ten times as long as the
 * loop itself takes for a few numbers. Here all of that is settled when a program is made
 * (straight.py): a call looks at its operands once, makes arrays for results, and runs the loops,
 * which are NumPy's own, so that the numbers are the same to the bit. What lies between two steps
 * is in memory that all programs share.
 *
 * Whatever is wrong with a program is found when it is made: no step can reach beyond the memory of
 * its slots.
 */
#include "native.h"

#include <structmember.h>
#include <numpy/ufuncobject.h>
#include <stdint.h>
#include <string.h>

#define MOST_OPERANDS 6
#define MOST_DIMS 8
#define MOST_AXES 32
#define MOST_SLOTS 255
#define LINE 64 /* bytes to which intermediate values are aligned */

/* How elements are looked up at places that numbers among the operands give. */
typedef struct {
    int columns;                    /* numbers of each place */
    int wraps;                      /* that negative ones count from the end */
    int drops;                      /* that what lies outside is ``fill`` */
    npy_intp stride[MOST_OPERANDS]; /* of each number: what one more means */
    npy_intp last[MOST_OPERANDS];   /* and the largest there is */
    char fill[16];
} Places;

typedef struct {
    PyUFuncGenericFunction run;
    void *data;
    Places *places;
    int operands, dims;
    int product; /* the loop of matmul: it has all dimensions itself, and the strides of the
                    matrices behind those of the stacks */
    npy_intp shape[MOST_DIMS];
    npy_intp slot[MOST_OPERANDS], offset[MOST_OPERANDS];
    npy_intp strides[MOST_OPERANDS][MOST_DIMS];
} Step;

typedef struct {
    PyArray_Descr *dtype;
    int dims;
    npy_intp shape[MOST_AXES];
    npy_intp bytes;
} Spec;

typedef struct {
    PyObject_HEAD
        vectorcallfunc call;
    Py_ssize_t given, made, constants, steps;
    Spec *specs; /* of operands, then of results */
    Step *step;
    npy_intp scratch;
    PyObject *held; /* ufuncs and constants */
    char **constant;
} Straight;

/* ---- loops that NumPy has no ufunc for ------------------------------------------------------- */

#define LOOP(name)                                                                                 \
    static void name(char **args, npy_intp const *count, npy_intp const *steps, void *data)

#define COPY(name, type)                                                                           \
    LOOP(copy_##name) {                                                                            \
        char *x = args[0], *out = args[1];                                                         \
        npy_intp n = *count, dx = steps[0], d = steps[1];                                          \
        for (npy_intp i = 0; i < n; i++, x += dx, out += d) *(type *)out = *(type *)x;             \
    }                                                                                              \
    LOOP(where_##name) {                                                                           \
        char *at = args[0], *yes = args[1], *no = args[2], *out = args[3];                         \
        npy_intp n = *count, da = steps[0], dy = steps[1], dn = steps[2], d = steps[3];            \
        for (npy_intp i = 0; i < n; i++, at += da, yes += dy, no += dn, out += d) {                \
            type a = *(type *)yes, b = *(type *)no;                                                \
            *(type *)out = *(npy_bool *)at ? a : b;                                                \
        }                                                                                          \
    }

typedef struct {
    uint64_t low, high;
} Wide;
COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, Wide)

/* From operands, then numbers of places, to the result. Numbers outside are moved inside, whatever
 * they are. */
#define LOOK_UP(name, type, number)                                                                \
    LOOP(look_up_##name) {                                                                         \
        const Places *p = data;                                                                    \
        const int last = p->columns + 1;                                                           \
        for (npy_intp i = 0; i < *count; i++) {                                                    \
            const char *from = args[0] + i * steps[0];                                             \
            int outside = 0;                                                                       \
            for (int c = 0; c < p->columns; c++) {                                                 \
                int64_t at = *(number *)(args[1 + c] + i * steps[1 + c]);                          \
                if (at < 0 && p->wraps) at += p->last[c] + 1;                                      \
                if (at < 0 || at > p->last[c]) {                                                   \
                    outside = 1;                                                                   \
                    at = at < 0 ? 0 : p->last[c];                                                  \
                }                                                                                  \
                from += at * p->stride[c];                                                         \
            }                                                                                      \
            *(type *)(args[last] + i * steps[last]) =                                              \
                outside && p->drops ? *(const type *)p->fill : *(const type *)from;                \
        }                                                                                          \
    }
#define LOOK_UPS(name, type) LOOK_UP(name##_by_4, type, int32_t) LOOK_UP(name##_by_8, type, int64_t)
LOOK_UPS(1, uint8_t)
LOOK_UPS(2, uint16_t)
LOOK_UPS(4, uint32_t)
LOOK_UPS(8, uint64_t)
LOOK_UPS(16, Wide)

#define CAST(name, from, to)                                                                       \
    LOOP(cast_##name) {                                                                            \
        char *x = args[0], *out = args[1];                                                         \
        npy_intp n = *count, dx = steps[0], d = steps[1];                                          \
        for (npy_intp i = 0; i < n; i++, x += dx, out += d) *(to *)out = (to) * (from *)x;         \
    }

/* Only what C defines for all numbers: integers that get smaller keep their lowest bits. */
#define INTEGERS(from, f)                                                                          \
    CAST(from##_to_i1, f, int8_t) CAST(from##_to_u1, f, uint8_t)                                   \
    CAST(from##_to_i2, f, int16_t) CAST(from##_to_u2, f, uint16_t)                                 \
    CAST(from##_to_i4, f, int32_t) CAST(from##_to_u4, f, uint32_t)                                 \
    CAST(from##_to_i8, f, int64_t) CAST(from##_to_u8, f, uint64_t)                                 \
    CAST(from##_to_f4, f, float) CAST(from##_to_f8, f, double)
INTEGERS(b1, npy_bool)
INTEGERS(i1, int8_t)
INTEGERS(u1, uint8_t)
INTEGERS(i2, int16_t)
INTEGERS(u2, uint16_t)
INTEGERS(i4, int32_t)
INTEGERS(u4, uint32_t)
INTEGERS(i8, int64_t)
INTEGERS(u8, uint64_t)
#define TRUTH(from, f)                                                                             \
    LOOP(cast_##from##_to_b1) {                                                                    \
        char *x = args[0], *out = args[1];                                                         \
        npy_intp n = *count, dx = steps[0], d = steps[1];                                          \
        for (npy_intp i = 0; i < n; i++, x += dx, out += d) *(npy_bool *)out = *(f *)x != 0;       \
    }
TRUTH(b1, npy_bool)
TRUTH(i1, int8_t)
TRUTH(u1, uint8_t)
TRUTH(i2, int16_t)
TRUTH(u2, uint16_t)
TRUTH(i4, int32_t)
TRUTH(u4, uint32_t)
TRUTH(i8, int64_t)
TRUTH(u8, uint64_t)
TRUTH(f4, float)
TRUTH(f8, double)
CAST(f4_to_f8, float, double)
CAST(f8_to_f4, double, float)

/* Floats to integers: towards zero, to the nearest that there is, and NaN to 0. In double precision
 * the bounds are exact. */
#define SATURATE(name, from, to, least, most, beyond)                                              \
    LOOP(cast_##name) {                                                                            \
        char *x = args[0], *out = args[1];                                                         \
        npy_intp n = *count, dx = steps[0], d = steps[1];                                          \
        for (npy_intp i = 0; i < n; i++, x += dx, out += d) {                                      \
            const double v = *(from *)x;                                                           \
            *(to *)out = v != v ? 0 : v >= beyond ? most : v <= (double)least ? least : (to)v;     \
        }                                                                                          \
    }
#define SATURATES(from, f)                                                                         \
    SATURATE(from##_to_i1, f, int8_t, INT8_MIN, INT8_MAX, 128.0)                                   \
    SATURATE(from##_to_u1, f, uint8_t, 0, UINT8_MAX, 256.0)                                        \
    SATURATE(from##_to_i2, f, int16_t, INT16_MIN, INT16_MAX, 32768.0)                              \
    SATURATE(from##_to_u2, f, uint16_t, 0, UINT16_MAX, 65536.0)                                    \
    SATURATE(from##_to_i4, f, int32_t, INT32_MIN, INT32_MAX, 2147483648.0)                         \
    SATURATE(from##_to_u4, f, uint32_t, 0, UINT32_MAX, 4294967296.0)                               \
    SATURATE(from##_to_i8, f, int64_t, INT64_MIN, INT64_MAX, 9223372036854775808.0)                \
    SATURATE(from##_to_u8, f, uint64_t, 0, UINT64_MAX, 18446744073709551616.0)
SATURATES(f4, float)
SATURATES(f8, double)

typedef struct {
    const char *name;
    PyUFuncGenericFunction run;
    int operands;
    int sizes[4]; /* of each operand's elements, in bytes */
} Named;

#define COPIES(n)                                                                                  \
    {"copy" #n, copy_##n, 2, {n, n}}, {                                                            \
        "where" #n, where_##n, 4, { 1, n, n, n }                                                   \
    }
#define TO(from, f, to, t)                                                                         \
    {                                                                                              \
        #from ">" #to, cast_##from##_to_##to, 2, { f, t }                                          \
    }
#define ALL(from, f)                                                                               \
    TO(from, f, b1, 1), TO(from, f, i1, 1), TO(from, f, u1, 1), TO(from, f, i2, 2),                \
        TO(from, f, u2, 2), TO(from, f, i4, 4), TO(from, f, u4, 4), TO(from, f, i8, 8),            \
        TO(from, f, u8, 8), TO(from, f, f4, 4), TO(from, f, f8, 8)
#define INTEGERS_OF(from, f)                                                                       \
    TO(from, f, i1, 1), TO(from, f, u1, 1), TO(from, f, i2, 2), TO(from, f, u2, 2),                \
        TO(from, f, i4, 4), TO(from, f, u4, 4), TO(from, f, i8, 8), TO(from, f, u8, 8)
static const Named NAMED[] = {
    COPIES(1),          COPIES(2),        COPIES(4),        COPIES(8),        COPIES(16),
    ALL(b1, 1),         ALL(i1, 1),       ALL(u1, 1),       ALL(i2, 2),       ALL(u2, 2),
    ALL(i4, 4),         ALL(u4, 4),       ALL(i8, 8),       ALL(u8, 8),       INTEGERS_OF(f4, 4),
    INTEGERS_OF(f8, 8), TO(f4, 4, f8, 8), TO(f8, 8, f4, 4), TO(f4, 4, b1, 1), TO(f8, 8, b1, 1),
};

/* ---- running --------------------------------------------------------------------------------- */

/* The memory between steps, which grows to what the largest program needs. A loop may call Python
 * (a warning of SciPy's), and so come here once more: it finds the memory taken and gets its own.
 */
static char *memory = NULL;
static npy_intp memory_bytes = 0;
static int memory_taken = 0;

static void run_step(const Step *s, char *const *base) {
    char *args[MOST_OPERANDS];
    const int operands = s->operands, last = s->dims - 1;
    if (s->product) {
        npy_intp steps[9];
        for (int k = 0; k < 3; k++) {
            args[k] = base[s->slot[k]] + s->offset[k];
            steps[k] = s->strides[k][0];
            steps[3 + 2 * k] = s->strides[k][1];
            steps[4 + 2 * k] = s->strides[k][2];
        }
        s->run(args, s->shape, steps, s->data);
        return;
    }
    npy_intp strides[MOST_OPERANDS], at[MOST_DIMS] = {0};
    for (int k = 0; k < operands; k++) {
        args[k] = base[s->slot[k]] + s->offset[k];
        strides[k] = s->strides[k][last];
    }
    if (last == 0) {
        s->run(args, s->shape, strides, s->data);
        return;
    }
    char *place[MOST_OPERANDS];
    memcpy(place, args, sizeof(place));
    for (;;) {
        npy_intp count = s->shape[last];
        memcpy(args, place, sizeof(args)); /* some loops move their pointers */
        s->run(args, &count, strides, s->data);
        int d = last - 1;
        for (; d >= 0; d--) {
            if (++at[d] < s->shape[d]) {
                for (int k = 0; k < operands; k++) place[k] += s->strides[k][d];
                break;
            }
            at[d] = 0;
            for (int k = 0; k < operands; k++) place[k] -= s->strides[k][d] * (s->shape[d] - 1);
        }
        if (d < 0) return;
    }
}

/* An operand's memory, in row-major order; what has to be made for it is put under ``made``. */
static char *memory_of(PyObject *x, const Spec *spec, PyObject **made) {
    if (!PyArray_Check(x)) {
        x = *made = PyArray_FROM_O(x);
        if (x == NULL) return NULL;
    }
    PyArrayObject *a = (PyArrayObject *)x;
    if ((PyArray_DESCR(a) != spec->dtype && !PyArray_EquivTypes(PyArray_DESCR(a), spec->dtype)) ||
        PyArray_NDIM(a) != spec->dims ||
        memcmp(PyArray_DIMS(a), spec->shape, spec->dims * sizeof(npy_intp)) != 0) {
        PyErr_SetString(PyExc_TypeError,
                        "an operand of another dtype or shape than the program is for");
        return NULL;
    }
    if (!PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) {
        a = (PyArrayObject *)PyArray_FromArray(
            a, NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_ENSUREARRAY);
        if (a == NULL) return NULL;
        Py_XDECREF(*made);
        *made = (PyObject *)a;
    }
    return PyArray_BYTES(a);
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Straight *p = (Straight *)self;
    const Py_ssize_t given = PyVectorcall_NARGS(flags), slots = p->given + p->made + p->constants;
    char *base[MOST_SLOTS + 1];
    PyObject *made[MOST_SLOTS + 1]; /* what operands became, and results */
    PyObject *found = NULL;
    char *own = NULL;
    int took = 0;
    if (given != p->given || (names != NULL && PyTuple_GET_SIZE(names))) {
        PyErr_Format(PyExc_TypeError, "takes %zd operands, not %zd", p->given, given);
        return NULL;
    }
    memset(made, 0, (given + p->made) * sizeof(*made));
    for (Py_ssize_t i = 0; i < given; i++)
        if ((base[i] = memory_of(args[i], &p->specs[i], &made[i])) == NULL) goto end;
    for (Py_ssize_t i = given; i < given + p->made; i++) {
        const Spec *spec = &p->specs[i];
        Py_INCREF(spec->dtype);
        made[i] = PyArray_NewFromDescr(&PyArray_Type, spec->dtype, spec->dims,
                                       (npy_intp *)spec->shape, NULL, NULL, 0, NULL);
        if (made[i] == NULL) goto end;
        base[i] = PyArray_BYTES((PyArrayObject *)made[i]);
    }
    for (Py_ssize_t i = 0; i < p->constants; i++) base[given + p->made + i] = p->constant[i];
    if (p->scratch) {
        if (!memory_taken) {
            if (memory_bytes < p->scratch) {
                char *more = PyMem_Realloc(memory, p->scratch + LINE);
                if (more == NULL) {
                    PyErr_NoMemory();
                    goto end;
                }
                memory = more;
                memory_bytes = p->scratch;
            }
            took = memory_taken = 1;
            base[slots] = memory;
        } else if ((base[slots] = own = PyMem_Malloc(p->scratch + LINE)) == NULL) {
            PyErr_NoMemory();
            goto end;
        }
        base[slots] = (char *)(((uintptr_t)base[slots] + LINE - 1) / LINE * LINE);
    }
    for (Py_ssize_t k = 0; k < p->steps; k++) run_step(&p->step[k], base);
    if (took) memory_taken = 0;
    PyMem_Free(own);
    if (PyErr_Occurred()) goto end;
    if (p->made == 1) {
        found = made[given];
        made[given] = NULL;
    } else if ((found = PyTuple_New(p->made)) != NULL) {
        for (Py_ssize_t i = 0; i < p->made; i++) {
            PyTuple_SET_ITEM(found, i, made[given + i]);
            made[given + i] = NULL;
        }
    }
end:
    for (Py_ssize_t i = 0; i < given + p->made; i++) Py_XDECREF(made[i]);
    return found;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* PyArg_ParseTuple for what may be no tuple. */
static int is_tuple(PyObject *x) {
    if (PyTuple_Check(x)) return 1;
    PyErr_SetString(PyExc_TypeError, "not a tuple");
    return 0;
}

static int read_spec(PyObject *x, Spec *spec) {
    PyObject *dtype, *shape;
    if (!is_tuple(x) ||
        !PyArg_ParseTuple(x, "O!O!", &PyArrayDescr_Type, &dtype, &PyTuple_Type, &shape))
        return -1;
    spec->dtype = (PyArray_Descr *)dtype;
    if (!(PyTypeNum_ISNUMBER(spec->dtype->type_num) || PyTypeNum_ISBOOL(spec->dtype->type_num)) ||
        !PyArray_ISNBO(spec->dtype->byteorder)) {
        spec->dtype = NULL;
        PyErr_SetString(PyExc_TypeError, "a dtype that has no loops");
        return -1;
    }
    Py_INCREF(dtype);
    spec->dims = (int)PyTuple_GET_SIZE(shape);
    if (spec->dims > MOST_AXES) {
        PyErr_SetString(PyExc_ValueError, "too many dimensions");
        return -1;
    }
    spec->bytes = PyDataType_ELSIZE(spec->dtype);
    for (int d = 0; d < spec->dims; d++) {
        npy_intp n = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
        if (n < 1 || n > INT32_MAX / spec->bytes) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a size that no program has");
            return -1;
        }
        spec->shape[d] = n;
        spec->bytes *= n;
    }
    return 0;
}

static int read_numbers(PyObject *x, npy_intp *into, int count) {
    if (!PyTuple_Check(x) || PyTuple_GET_SIZE(x) != count) {
        PyErr_SetString(PyExc_ValueError, "a tuple of another length");
        return -1;
    }
    for (int i = 0; i < count; i++) {
        into[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(x, i));
        if (into[i] == -1 && PyErr_Occurred()) return -1;
        if (into[i] > INT32_MAX || into[i] < -INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "a number that no program has");
            return -1;
        }
    }
    return 0;
}

/* A look-up: bytes of an element, bytes of a number, (stride, largest) of each, whether negative
 * ones wrap, what stands for those outside. */
static int read_places(PyObject *what, Step *s, int *sizes) {
    static const PyUFuncGenericFunction RUN[5][2] = {{look_up_1_by_4, look_up_1_by_8},
                                                     {look_up_2_by_4, look_up_2_by_8},
                                                     {look_up_4_by_4, look_up_4_by_8},
                                                     {look_up_8_by_4, look_up_8_by_8},
                                                     {look_up_16_by_4, look_up_16_by_8}};
    int size, number, wraps, kind = 0;
    PyObject *columns, *fill;
    if (!PyArg_ParseTuple(what, "iiO!pO", &size, &number, &PyTuple_Type, &columns, &wraps, &fill))
        return -1;
    while (kind < 5 && size != 1 << kind) kind++;
    const Py_ssize_t count = PyTuple_GET_SIZE(columns);
    if (kind == 5 || (number != 4 && number != 8) || count < 1 || count + 2 > MOST_OPERANDS ||
        (fill != Py_None && (!PyBytes_Check(fill) || PyBytes_GET_SIZE(fill) != size))) {
        PyErr_SetString(PyExc_ValueError, "no such look-up");
        return -1;
    }
    Places *p = s->places = PyMem_Calloc(1, sizeof(Places));
    if (p == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    p->columns = (int)count;
    p->wraps = wraps;
    p->drops = fill != Py_None;
    if (p->drops) memcpy(p->fill, PyBytes_AS_STRING(fill), size);
    sizes[0] = sizes[1 + count] = size;
    for (Py_ssize_t c = 0; c < count; c++) {
        npy_intp pair[2];
        if (read_numbers(PyTuple_GET_ITEM(columns, c), pair, 2) < 0) return -1;
        if (pair[1] < 0) {
            PyErr_SetString(PyExc_ValueError, "no place at all");
            return -1;
        }
        p->stride[c] = pair[0];
        p->last[c] = pair[1];
        sizes[1 + c] = number;
    }
    s->run = RUN[kind][number == 8];
    s->data = p;
    s->operands = (int)count + 2;
    return s->operands - 1;
}

/* The loop that a step names: one of a ufunc by its number, or one of the above by its name. Gives
 * the bytes of each operand's elements, and how many operands are read; the others are written. */
static int read_loop(PyObject *what, Py_ssize_t number, Step *s, int *sizes) {
    if (PyTuple_Check(what)) return read_places(what, s, sizes);
    if (PyUnicode_Check(what)) {
        for (size_t i = 0; i < sizeof(NAMED) / sizeof(*NAMED); i++)
            if (PyUnicode_CompareWithASCIIString(what, NAMED[i].name) == 0) {
                s->run = NAMED[i].run;
                s->operands = NAMED[i].operands;
                memcpy(sizes, NAMED[i].sizes, s->operands * sizeof(int));
                return s->operands - 1;
            }
        PyErr_Format(PyExc_ValueError, "no loop %R", what);
        return -1;
    }
    if (!PyObject_TypeCheck(what, &PyUFunc_Type)) {
        PyErr_SetString(PyExc_TypeError, "neither a ufunc nor the name of a loop");
        return -1;
    }
    PyUFuncObject *u = (PyUFuncObject *)what;
    s->product = u->core_enabled;
    if ((u->core_enabled && strcmp(u->name, "matmul") != 0) || u->nargs > MOST_OPERANDS ||
        number < 0 || number >= u->ntypes || u->functions == NULL || u->functions[number] == NULL) {
        PyErr_SetString(PyExc_ValueError, "no such loop");
        return -1;
    }
    s->run = u->functions[number];
    s->data = u->data == NULL ? NULL : (void *)u->data[number];
    s->operands = u->nargs;
    for (int k = 0; k < u->nargs; k++) {
        int type = u->types[number * u->nargs + k];
        PyArray_Descr *dtype = PyArray_DescrFromType(type);
        if (dtype == NULL) return -1;
        sizes[k] = PyDataType_REFCHK(dtype) ? 0 : (int)PyDataType_ELSIZE(dtype);
        Py_DECREF(dtype);
        if (!sizes[k]) {
            PyErr_SetString(PyExc_ValueError, "a loop of objects");
            return -1;
        }
    }
    return u->nin;
}

static int read_step(const Straight *p, PyObject *x, Step *s, const npy_intp *bytes,
                     Py_ssize_t slots) {
    PyObject *what, *shape, *operands;
    Py_ssize_t number;
    int sizes[MOST_OPERANDS], read;
    if (!is_tuple(x) || !PyArg_ParseTuple(x, "OnO!O!", &what, &number, &PyTuple_Type, &shape,
                                          &PyTuple_Type, &operands))
        return -1;
    if ((read = read_loop(what, number, s, sizes)) < 0) return -1;
    s->dims = (int)PyTuple_GET_SIZE(shape);
    if (s->product && s->dims != 4) {
        PyErr_SetString(PyExc_ValueError, "a product that does not have four dimensions");
        return -1;
    }
    if (s->dims < 1 || s->dims > MOST_DIMS || PyTuple_GET_SIZE(operands) != s->operands) {
        PyErr_SetString(PyExc_ValueError, "dimensions or operands of a step");
        return -1;
    }
    if (read_numbers(shape, s->shape, s->dims) < 0) return -1;
    for (int k = 0; k < s->operands; k++) {
        PyObject *strides, *place = PyTuple_GET_ITEM(operands, k);
        Py_ssize_t slot, offset;
        if (!is_tuple(place) ||
            !PyArg_ParseTuple(place, "nnO!", &slot, &offset, &PyTuple_Type, &strides))
            return -1;
        const int writable = slot == slots || (slot >= p->given && slot < p->given + p->made);
        if (slot < 0 || slot > slots || offset < 0 || offset > INT32_MAX ||
            (k >= read && !writable) ||
            read_numbers(strides, s->strides[k], s->product ? 3 : s->dims) < 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a place that is none");
            return -1;
        }
        npy_intp low = offset, high = offset + sizes[k];
        for (int c = 0; k == 0 && s->places != NULL && c < s->places->columns; c++) {
            const npy_intp reach = s->places->stride[c] * s->places->last[c];
            if (reach < 0)
                low += reach;
            else
                high += reach;
        }
        for (int d = 0; d < s->dims; d++) {
            if (s->shape[d] < 1) {
                PyErr_SetString(PyExc_ValueError, "a step over nothing");
                return -1;
            }
            /* Of a product n x m of n x k and k x m, which has the dimensions stack, n, k and m,
             * those that an operand has. */
            static const int OF_PRODUCT[3][4] = {{0, 1, 2, -1}, {0, -1, 1, 2}, {0, 1, -1, 2}};
            const int own = s->product ? OF_PRODUCT[k][d] : d;
            if (own < 0) continue;
            const npy_intp reach =
                s->strides[k][own] * (s->shape[d] - 1); /* of 62 bits at most, see read_numbers */
            if (reach < 0)
                low += reach;
            else
                high += reach;
            if (low < 0 || high > bytes[slot]) {
                PyErr_SetString(PyExc_ValueError, "a step that reaches beyond its memory");
                return -1;
            }
        }
        s->slot[k] = slot;
        s->offset[k] = offset;
    }
    return 0;
}

static void dealloc(PyObject *self) {
    Straight *p = (Straight *)self;
    if (p->specs != NULL)
        for (Py_ssize_t i = 0; i < p->given + p->made; i++) Py_XDECREF(p->specs[i].dtype);
    PyMem_Free(p->specs);
    for (Py_ssize_t k = 0; p->step != NULL && k < p->steps; k++) PyMem_Free(p->step[k].places);
    PyMem_Free(p->step);
    PyMem_Free(p->constant);
    Py_XDECREF(p->held);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *named) {
    PyObject *given, *made, *constants, *steps;
    Py_ssize_t scratch;
    npy_intp bytes[MOST_SLOTS + 1];
    (void)named;
    if (!PyArg_ParseTuple(args, "O!O!O!nO!", &PyTuple_Type, &given, &PyTuple_Type, &made,
                          &PyTuple_Type, &constants, &scratch, &PyTuple_Type, &steps))
        return NULL;
    Straight *p = (Straight *)type->tp_alloc(type, 0);
    if (p == NULL) return NULL;
    p->call = call;
    const Py_ssize_t first = PyTuple_GET_SIZE(given), second = first + PyTuple_GET_SIZE(made),
                     slots = second + PyTuple_GET_SIZE(constants);
    if (slots > MOST_SLOTS || scratch < 0 || scratch > INT32_MAX || first == second) {
        PyErr_SetString(PyExc_ValueError, "too many values, or no results");
        goto failed;
    }
    p->specs = PyMem_Calloc(second, sizeof(Spec));
    p->step = PyMem_Calloc(PyTuple_GET_SIZE(steps) + 1, sizeof(Step));
    p->constant = PyMem_Calloc(slots - second + 1, sizeof(char *));
    p->held = PyTuple_Pack(2, constants, steps);
    if (p->specs == NULL || p->step == NULL || p->constant == NULL || p->held == NULL) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        goto failed;
    }
    p->given = first;
    p->made = second - first;
    p->scratch = scratch;
    for (Py_ssize_t i = 0; i < second; i++) {
        if (read_spec(i < first ? PyTuple_GET_ITEM(given, i) : PyTuple_GET_ITEM(made, i - first),
                      &p->specs[i]) < 0)
            goto failed;
        bytes[i] = p->specs[i].bytes;
    }
    for (Py_ssize_t i = second; i < slots; i++) {
        PyObject *x = PyTuple_GET_ITEM(constants, i - second);
        if (!PyArray_Check(x) ||
            !PyArray_CHKFLAGS((PyArrayObject *)x, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED) ||
            PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)x))) {
            PyErr_SetString(PyExc_TypeError, "a constant that is no array in row-major order");
            goto failed;
        }
        p->constant[i - second] = PyArray_BYTES((PyArrayObject *)x);
        bytes[i] = PyArray_NBYTES((PyArrayObject *)x);
    }
    p->constants = slots - second;
    bytes[slots] = scratch;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(steps); k++) {
        p->steps = k + 1; /* so that what it has is freed */
        if (read_step(p, PyTuple_GET_ITEM(steps, k), &p->step[k], bytes, slots) < 0) goto failed;
    }
    return (PyObject *)p;
failed:
    Py_DECREF(p);
    return NULL;
}

static PyMemberDef MEMBERS[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Straight, call), READONLY, NULL},
    {NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_new, new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, MEMBERS},
    {Py_tp_doc, "Straight(given, made, constants, scratch, steps): a program of inner loops; see "
                "engine/host/straight.py."},
    {0, NULL},
};

static PyType_Spec SPEC = {
    .name = "_jtorch_native.Straight",
    .basicsize = sizeof(Straight),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = SLOTS,
};

int add_straight(PyObject *module) {
    PyObject *type = PyType_FromSpec(&SPEC);
    if (type != NULL && PyModule_AddObject(module, "Straight", type) == 0) return 0;
    Py_XDECREF(type);
    return -1;
}

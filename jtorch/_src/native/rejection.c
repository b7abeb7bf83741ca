/* Gamma, Poisson and binomial numbers, each of which takes as many uniform numbers as chance wants.
 *
 * The loops of draws/rejection.py, which has their sources and what PyTorch does otherwise, on
 * uniform numbers that are given. Where these do not suffice for a number, it is begun again when
 * there are more.
 */
#include "native.h"

#include <math.h>

typedef struct {
    const double *uniforms;
    npy_intp at, end;
    double kept; /* the second half of a pair of normal numbers */
    int keeps;
} Stream;

/* Each gives 0 if the stream ends too early. A row of the table is a parameter, n numbers long. */
typedef int (*Method)(Stream *, const double *table, npy_intp n, npy_intp i, double *found);

#define DRAW(x)                                                                                    \
    do {                                                                                           \
        if (s->at == s->end) return 0;                                                             \
        (x) = s->uniforms[s->at++];                                                                \
    } while (0)

static int normal(Stream *s, double *found) {
    if (s->keeps) {
        s->keeps = 0;
        *found = s->kept;
        return 1;
    }
    double angle, u;
    DRAW(angle);
    DRAW(u);
    angle *= 2.0 * 3.14159265358979323846;
    const double radius = sqrt(-2.0 * log1p(-u));
    s->kept = radius * sin(angle);
    s->keeps = 1;
    *found = radius * cos(angle);
    return 1;
}

/* Rows: the boost of small concentrations, shape, slope, whether the concentration is 0. */
static int gamma_number(Stream *s, const double *table, npy_intp n, npy_intp i, double *found) {
    const double power = table[i], shape = table[n + i], slope = table[2 * n + i],
                 squeeze = (double)0.0331f;
    double scale = 1.0, x, u;
    if (table[3 * n + i] != 0) {
        *found = 0;
        return 1;
    }
    if (power != 0) { /* NaN, too */
        DRAW(u);
        scale = power > 0 ? pow(1.0 - u, power) : u * NAN;
    }
    for (;;) {
        if (!normal(s, &x)) return 0;
        const double y = 1.0 + slope * x;
        if (y <= 0) continue;
        const double v = y * y * y, square = x * x;
        DRAW(u);
        u = 1.0 - u;
        if (u < 1.0 - squeeze * square * square ||
            log(u) < 0.5 * square + shape * (1.0 - v + log(v))) {
            *found = scale * shape * v;
            return 1;
        }
    }
}

/* Row: the rate. */
static int poisson_number(Stream *s, const double *table, npy_intp n, npy_intp i, double *found) {
    const double rate = table[i];
    double u, v;
    (void)n;
    *found = 0;
    if (rate == 0) return 1;
    if (isinf(rate)) { /* what is no number is the smallest integer in C++, after a pair */
        DRAW(u);
        DRAW(v);
        *found = -9223372036854775808.0;
        return 1;
    }
    if (rate < 10) {
        const double limit = exp(-rate);
        double product;
        DRAW(product);
        while (product > limit) {
            DRAW(u);
            product *= u;
            *found += 1;
        }
        return 1;
    }
    const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b,
                 inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        DRAW(u);
        DRAW(v);
        u -= 0.5;
        const double us = 0.5 - fabs(u);
        if (us == 0) continue;
        const double k = floor((2 * a / us + b) * u + rate + 0.43);
        *found = k;
        if (us >= 0.07 && v <= v_r) return 1;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            -rate + k * log_rate - lgamma(k + 1))
            return 1;
    }
}

/* What Stirling's approximation to log(k!) lacks. */
static double tail(double k) {
    static const double FIRST[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983,
                                   0.02079067210376509, 0.0166446911898211,  0.0138761288230707,
                                   0.0118967099458917,  0.0104112652619720,  0.00925546218271273,
                                   0.00833056343336287};
    if (k < 10) return FIRST[(int)k];
    const double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* Rows: trials, their chance, the smaller of it and its complement q, log(1 - q), spread, odds, mode
 * and mean. */
static int binomial_number(Stream *s, const double *table, npy_intp n, npy_intp i, double *found) {
    const double trials = table[i], chance = table[n + i], q = table[2 * n + i],
                 log_miss = table[3 * n + i], spread = table[4 * n + i], odds = table[5 * n + i],
                 middle = table[6 * n + i], mean = table[7 * n + i];
    double u, v, k = 0;
    *found = 0;
    if (trials <= 0 || chance <= 0) return 1;
    if (isnan(chance) || isnan(trials) || chance >= 1) {
        *found = isnan(chance) ? NAN : trials;
        return 1;
    }
    if (!(mean >= 10)) {
        for (double total = 0;; k++) { /* gaps between successes */
            DRAW(u);
            total += u != 0 ? ceil(log(u) / log_miss) : INFINITY;
            if (total > trials) break;
        }
    } else {
        const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * q,
                     v_r = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
        for (;;) {
            DRAW(u);
            DRAW(v);
            u -= 0.5;
            const double us = 0.5 - fabs(u);
            if (us == 0) continue;
            k = floor((2 * a / us + b) * u + (mean + 0.5));
            if (k < 0 || k > trials) continue;
            if (us >= 0.07 && v <= v_r) break;
            v = v * alpha / (a / (us * us) + b);
            const double bound =
                (middle + 0.5) * log((middle + 1) / (odds * (trials - middle + 1))) +
                (trials + 1) * log((trials - middle + 1) / (trials - k + 1)) +
                (k + 0.5) * log(odds * (trials - k + 1) / (k + 1)) + tail(middle) +
                tail(trials - middle) - tail(k) - tail(trials - k);
            if (log(v) <= bound) break;
        }
    }
    *found = chance > 0.5 ? trials - k : k;
    return 1;
}

static const struct {
    Method draw;
    int rows;
} METHODS_OF[] = {{gamma_number, 4}, {poisson_number, 1}, {binomial_number, 8}};

static int is_doubles(PyArrayObject *x) {
    return PyArray_TYPE(x) == NPY_DOUBLE && PyArray_ISNOTSWAPPED(x) &&
           PyArray_CHKFLAGS(x, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

static PyObject *rejection(PyObject *self, PyObject *args) {
    PyArrayObject *table, *uniforms, *found;
    PyObject *kept;
    int kind;
    Py_ssize_t at;
    (void)self;
    if (!PyArg_ParseTuple(args, "iO!O!O!nO", &kind, &PyArray_Type, &table, &PyArray_Type, &uniforms,
                          &PyArray_Type, &found, &at, &kept))
        return NULL;
    const npy_intp n = PyArray_SIZE(found);
    if (kind < 0 || kind > 2 || !is_doubles(table) || !is_doubles(uniforms) || !is_doubles(found) ||
        !PyArray_ISWRITEABLE(found) || at < 0 || PyArray_SIZE(table) != METHODS_OF[kind].rows * n) {
        PyErr_SetString(PyExc_ValueError, "no numbers can be drawn from such arrays");
        return NULL;
    }
    Stream stream = {(const double *)PyArray_DATA(uniforms), 0, PyArray_SIZE(uniforms), 0, 0};
    if (kept != Py_None) {
        stream.keeps = 1;
        stream.kept = PyFloat_AsDouble(kept);
        if (PyErr_Occurred()) return NULL;
    }
    const Method draw = METHODS_OF[kind].draw;
    const double *parameters = (const double *)PyArray_DATA(table);
    double *to = (double *)PyArray_DATA(found);
    npy_intp i = at;
    Py_BEGIN_ALLOW_THREADS
    for (; i < n; i++) {
        const Stream before = stream;
        if (!draw(&stream, parameters, n, i, to + i)) {
            stream = before;
            break;
        }
    }
    Py_END_ALLOW_THREADS
    return stream.keeps ? Py_BuildValue("nnd", (Py_ssize_t)i, (Py_ssize_t)stream.at, stream.kept)
                        : Py_BuildValue("nnO", (Py_ssize_t)i, (Py_ssize_t)stream.at, Py_None);
}

static PyMethodDef METHODS[] = {
    {"rejection", rejection, METH_VARARGS,
     "rejection(kind, table, uniforms, found, at, kept): draws gamma (0), Poisson (1) or binomial "
     "(2) numbers into found from place at on, as far as the uniform numbers suffice. Gives the "
     "place reached, how many were used, and the normal number that is kept, or None."},
    {NULL, NULL, 0, NULL},
};

int add_rejection(PyObject *module) { return PyModule_AddFunctions(module, METHODS); }

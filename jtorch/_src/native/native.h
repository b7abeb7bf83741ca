/* What the files of the extension have in common: Python's and NumPy's headers, and what each adds
 * to the module. */
#ifndef JTORCH_NATIVE_H
#define JTORCH_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL jtorch_native_arrays
#define PY_UFUNC_UNIQUE_SYMBOL jtorch_native_ufuncs
#ifndef JTORCH_NATIVE_MODULE
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>

/* Each returns -1, with an exception, if it fails. */
int add_straight(PyObject *module);
int add_draws(PyObject *module);
int add_running(PyObject *module);
int add_adding(PyObject *module);
int add_rejection(PyObject *module);
int add_sampling(PyObject *module);

#endif

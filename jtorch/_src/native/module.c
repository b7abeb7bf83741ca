/* The optional extension ``_jtorch_native``: what NumPy and XLA have no quick way for. The package
 * works without it (facts/native.py). */
#define JTORCH_NATIVE_MODULE
#include "native.h"

#include <numpy/ufuncobject.h>

#define VERSION 3 /* of what facts/native.py counts on; it takes no other */

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    "_jtorch_native",
    "Small calls of NumPy in a row, random numbers, sums in one pass, and sampled images.",
    -1,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__jtorch_native(void) {
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&MODULE);
    if (module == NULL) return NULL;
    if (PyModule_AddIntConstant(module, "VERSION", VERSION) < 0 || add_straight(module) < 0 ||
        add_draws(module) < 0 || add_running(module) < 0 || add_adding(module) < 0 ||
        add_rejection(module) < 0 || add_sampling(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}

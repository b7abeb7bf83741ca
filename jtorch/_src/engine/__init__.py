"""The engine: values, recording, compiling, running. The only place that calls XLA; it knows
neither tensors nor ops.

The floors above say ``record(call, values, numbers)`` and ``read(value)``. See design notes in
``docs/decisions/``.
"""

from . import exiting as _exiting
from . import forking as _forking
from . import heap as _heap
from . import larger as _larger
from .at_once import OutOfMemoryError as OutOfMemoryError
from .at_once import outside_jax as outside_jax
from .calls import Call as Call
from .calls import Guarded as Guarded
from .calls import device_name as device_name
from .calls import shapes_of as shapes_of
from .homes import THREADS as THREADS
from .homes import require_gil as require_gil
from .record import HOLDING as HOLDING
from .record import LOCAL as LOCAL
from .record import array_of as array_of
from .record import execution as execution
from .record import execution_mode as execution_mode
from .record import flush as flush
from .record import leaf as leaf
from .record import note_read as note_read
from .record import numbers_of as numbers_of
from .record import read as read
from .record import record as record
from .record import record_one as record_one
from .record import record_two as record_two
from .record import set_execution as set_execution
from .run import stats as stats
from .stopping import STOPPING as STOPPING
from .stopping import here as here
from .stopping import passing as passing
from .stopping import stopping as stopping
from .trie import ROOT as ROOT
from .values import META as META
from .values import SPECIAL as SPECIAL
from .values import Aval as Aval
from .values import Laid as Laid
from .values import Lifted as Lifted
from .values import Meta as Meta
from .values import Several as Several
from .values import Transformed as Transformed
from .values import Value as Value
from .values import aval_of as aval_of
from .values import concrete as concrete
from .values import copied as copied
from .values import default_device as default_device
from .values import meta_value as meta_value
from .values import on_host as on_host
from .values import put as put
from .values import settled as settled
from .values import unbound as unbound
from .written import at_hand as at_hand
from .written import made_at_hand as made_at_hand
from .written import ran_at_once as ran_at_once
from .written import replacing as replacing

require_gil()
_heap.keep_freed_memory()
_larger.tell()
_forking.watch()
_exiting.watch()

"""The old name of ``torch.overrides``."""

from __future__ import annotations

from .overrides import BaseTorchFunctionMode as BaseTorchFunctionMode
from .overrides import TorchFunctionMode as TorchFunctionMode
from .overrides import get_default_nowrap_functions as get_default_nowrap_functions
from .overrides import get_ignored_functions as get_ignored_functions
from .overrides import get_overridable_functions as get_overridable_functions
from .overrides import get_testing_overrides as get_testing_overrides
from .overrides import handle_torch_function as handle_torch_function
from .overrides import has_torch_function as has_torch_function
from .overrides import is_tensor_like as is_tensor_like
from .overrides import is_tensor_method_or_property as is_tensor_method_or_property
from .overrides import normalize_call as normalize_call
from .overrides import redispatch_function as redispatch_function
from .overrides import resolve_name as resolve_name
from .overrides import wrap_torch_function as wrap_torch_function

"""Which parts of CUDA tests may use."""

from __future__ import annotations

import jtorch as torch

TEST_CUDA = torch.cuda.is_available()
TEST_MULTIGPU = torch.cuda.device_count() >= 2
TEST_CUDNN = TEST_CUDA
TEST_MAGMA = TEST_CUDA
TEST_CUDNN_VERSION = 0
TEST_NUMBA_CUDA = False
CUDA11OrLater = CUDA12OrLater = TEST_CUDA
SM53OrLater = SM60OrLater = SM70OrLater = SM75OrLater = SM80OrLater = SM90OrLater = TEST_CUDA

"""What the operating system tells of the processor."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

#: PyTorch's names of instruction sets by processors, and Linux's where they differ.
_X86 = {
    name: name
    for name in (
        "sse sse2 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx512_vnni avx512_bf16 avx512_fp16 "
        "avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vp2intersect avx512_4vnniw "
        "avx512_4fmaps avx10_1 avx10_2 avx_vnni_int8 avx_vnni_int16 avx_ne_convert amx_bf16 "
        "amx_tile amx_int8 amx_fp16 fma4 f16c bmi2 popcnt aes clflush clflushopt clwb"
    ).split()
} | {
    "sse3": "pni", "fma3": "fma", "bmi": "bmi1", "lzcnt": "abm", "sha": "sha_ni",
    "avx512_f": "avx512f", "avx512_cd": "avx512cd", "avx512_dq": "avx512dq",
    "avx512_bw": "avx512bw", "avx512_vl": "avx512vl", "avx512_ifma": "avx512ifma",
    "avx512_vbmi": "avx512vbmi",
}  # fmt: skip
_ARM = {
    "neon": "asimd", "fp16_arith": "asimdhp", "bf16": "bf16", "i8mm": "i8mm", "dot": "asimddp",
    "sve": "sve", "sve2": "sve2", "sve_bf16": "svebf16", "sme": "sme", "sme2": "sme2",
    "atomics": "atomics", "fhm": "asimdfhm", "rdm": "asimdrdm", "crc32": "crc32", "aes": "aes",
    "sha1": "sha1", "sha2": "sha2", "pmull": "pmull",
}  # fmt: skip
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20}


@functools.cache
def _described() -> list[dict[str, str]]:
    """What Linux writes of each logical core; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    cores = [
        {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in part.splitlines())}
        for part in text.split("\n\n")
    ]
    return [core for core in cores if "processor" in core]


def flags() -> set[str]:
    """The names of Linux for what the processor can do."""
    core = _described()[0] if _described() else {}
    return set(core.get("flags", core.get("Features", "")).split())


def _caches() -> dict[str, int]:
    found = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = (
                (folder / name).read_text().strip() for name in ("level", "type", "size")
            )
            bytes_ = int(size[:-1]) * _UNITS[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
        if level == "1" and kind == "Data":
            found["l1d_cache_size"] = bytes_
        elif level == "2":
            found["l2_cache_size"] = bytes_
    return found


def _short(name: str) -> str:
    """A processor's name without marks, frequency, numbers of cores and words that all have."""
    return " ".join(re.sub(r"\((?:R|TM)\)|@.*|\b(?:\d+-Core|CPU|Processor)\b", " ", name).split())


@functools.cache
def capabilities() -> Mapping[str, bool | int | str]:
    """What ``torch.cpu.get_capabilities`` gives."""
    architecture, cores, there = platform.machine(), _described(), flags()
    arm = architecture in ("aarch64", "arm64")
    found: dict[str, bool | int | str] = {
        name: flag in there for name, flag in (_ARM if arm else _X86).items()
    }
    sockets = {core.get("physical id", "0") for core in cores} or {"0"}
    physical = {(core.get("physical id"), core.get("core id", core["processor"])) for core in cores}
    logical = len(cores) or os.cpu_count() or 1
    found |= {
        "architecture": architecture,
        "cpu_name": _short(cores[0].get("model name", "") if cores else platform.processor()),
        "num_sockets": len(sockets),
        "num_physical_cores": len(physical) or logical,
        "num_logical_cores": logical,
    }
    return MappingProxyType(found | _caches())

"""How long does the first and the second run of an example take, compiling included?"""

from __future__ import annotations

from . import processes


class ColdStart:
    timeout = 900
    number = repeat = rounds = 1

    def setup_cache(self) -> dict[str, float]:
        return processes.cold_start().times

    def track_second_run(self, times: dict[str, float]) -> float:
        return times["deferred"]

    def track_first_run(self, times: dict[str, float]) -> float:
        return times["empty cache"]

    def track_without_compiling(self, times: dict[str, float]) -> float:
        return times["without compiling"]

    track_second_run.unit = track_first_run.unit = track_without_compiling.unit = "s"


class PeakMemory:
    timeout = 300

    def track_gpt_step(self) -> int:
        before, peak, _ = processes.peak_memory(["deferred"])["deferred"]
        return peak - before

    track_gpt_step.unit = "bytes"

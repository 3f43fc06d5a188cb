"""Facts about leaks in general and about leaks of libraries: one entry per fact, with its source.

places       holders in which programs keep objects by mistake
handles      small objects that own something larger, and native caches
advice       what to do if no container is named
known_leaks  leaks of released libraries, one TOML entry each
"""

from leakguard.analysis.knowledge.advice import (
    BEHIND_ADVICE,
    GONE_ADVICE,
    KEPT_EXCEPTION,
    NATIVE_ADVICE,
    NO_COLLECTOR,
    POOLS_ADVICE,
)
from leakguard.analysis.knowledge.handles import (
    NATIVE_CACHES,
    is_handle,
    is_mapping,
    is_pool,
)
from leakguard.analysis.knowledge.places import Place, keeps_self, place_of

__all__ = [
    "BEHIND_ADVICE",
    "GONE_ADVICE",
    "KEPT_EXCEPTION",
    "NATIVE_ADVICE",
    "NATIVE_CACHES",
    "NO_COLLECTOR",
    "POOLS_ADVICE",
    "Place",
    "is_handle",
    "is_mapping",
    "is_pool",
    "keeps_self",
    "place_of",
]

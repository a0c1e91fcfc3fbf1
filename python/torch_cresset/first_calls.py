"""Takes out of first calls what Dynamo spends there besides tracing.

Python's garbage collector walks all objects again and again while Dynamo makes new ones, next to none of which become garbage before it is done and collects them itself
(torch._dynamo.config.run_gc_after_compile). And for each operator Dynamo looks up the function that its line stands in, for which it cuts whole source files into tokens, also
where the only reader, the log of TORCH_LOGS=trace_call, is off.
"""

import contextlib
import gc
import logging

from torch._dynamo import output_graph, symbolic_convert
from torch._dynamo.callback import callback_handler

_until_compiled = contextlib.ExitStack()


def _begin(_):
    if gc.isenabled():
        gc.disable()
        _until_compiled.callback(gc.enable)
    if not output_graph.trace_call_log.isEnabledFor(logging.DEBUG):
        _until_compiled.callback(setattr, symbolic_convert, "get_funcname", symbolic_convert.get_funcname)
        symbolic_convert.get_funcname = lambda filename, line: None


def _end(_):
    _until_compiled.close()


def shorten():
    """From the next compilation on, until torch._dynamo.reset() forgets it. Dynamo calls both once for an outermost frame."""
    if _begin not in callback_handler.start_callbacks:
        callback_handler.register_start_callback(_begin)
        callback_handler.register_end_callback(_end)

"""Which composites stay whole, who runs them, and what became of each."""

import collections
import contextlib
import pathlib
import warnings

from . import _C


def include_path():
    """The directory of the C and C++ headers (cresset/kernel_plugin.h, cresset/metrics.h, cresset/composite.h)."""
    return str(pathlib.Path(__file__).parent / "include")


def load_plugin(path):
    """Loads kernels for composites from a shared library (docs/kernels.md); programs compiled from here on are offered to it first.

    Raises RuntimeError that says what is wrong with it: missing, another version of the interface, crashing while it is loaded.
    """
    _C.load_plugin(str(pathlib.Path(path).resolve()))


def _selection(only, except_):
    """The patterns as text, warned of where `composites` or `interpreted` is entered."""
    patterns = lambda given: [given] if isinstance(given, str) else list(given)
    text = ",".join(patterns(only) + ["-" + pattern for pattern in patterns(except_)]) or "none"
    for warning in _C.check_composites(text):
        warnings.warn(f"cresset: {warning}", stacklevel=4)
    return text


@contextlib.contextmanager
def composites(only="default", except_=()):
    """Within the block only these composites stay whole; the others are decomposed.

    only, except_: a pattern or a list of them: a name with globs and conditions, as "aten.gelu*", "softmax", "all", "none", "default" (what the
    catalogue keeps) or "aten.gelu{dtype=f32|bf16, rank>=2, approximate!=tanh}" (keys: version; dtype, rank and shape of the first operand; attributes).
    Blocks nest; outside of them CRESSET_COMPOSITES decides. What is pending at either end runs there. Raises ValueError for a malformed pattern,
    or a name that is no composite's; warns of one that may yet be defined, but is nearly one that is.
    """
    text = _selection(only, except_)
    before = _C.own_composites()
    _C.set_composites(text)
    try:
        yield
    finally:
        _C.set_composites(before)


@contextlib.contextmanager
def interpreted(only="all", except_=()):
    """Within the block the reference interpreter runs these composites, slowly: a wrong number that goes away in it comes from compiled code.

    only, except_: as in `composites`. What is pending at either end runs there. Raises and warns as it does.
    """
    text = _selection(only, except_)
    _C.interpret_composites(text)
    try:
        yield
    finally:
        _C.interpret_composites("")


Composite = collections.namedtuple("Composite", "name version attributes types count became why")
Composite.__doc__ = """Composites of one form: `became` is "kernel NAME" or "decomposed", and `why` says why."""


class Explanation(list):
    """A list of Composite that prints as a table."""

    def __str__(self):
        if not self:
            return "no composites"
        rows = [(str(c.count), c.name + (f" v{c.version}" if c.version != 1 else ""), c.attributes, c.types, c.became + (f" ({c.why})" if c.why else "")) for c in self]
        rows.insert(0, ("count", "composite", "attributes", "types", "became"))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths + [0])).rstrip() for row in rows)

    __repr__ = __str__


def explain(function, *args, **kwargs):
    """Runs `function(*args, **kwargs)` and says of every composite in its programs (device or torch.compile, forward and backward)
    how often it occurs, with which attributes and types, and what became of it: which kernel took it, or why it was decomposed.

    Returns an Explanation, a list of Composite that prints as a table. Errors of the function are raised.
    """
    _C.sync()
    _C.begin_watch()
    try:
        results = function(*args, **kwargs)  # held: what nobody holds is not computed
        _C.sync()
        del results
    finally:
        programs = _C.end_watch()
    total = {}
    for fates in programs:
        for fate in fates:
            *key, count = fate
            total[tuple(key)] = total.get(tuple(key), 0) + count
    return Explanation(Composite(name, version, attributes, types, count, became, why)
                       for (name, version, attributes, types, became, why), count in sorted(total.items()))


ProfileRow = collections.namedtuple("ProfileRow", "kernel calls seconds")


class Profile(list):
    """ProfileRows, the dearest kernel first, that print as a table."""

    def __str__(self):
        total = sum(row.seconds for row in self)
        lines = [f"{'ms':>10}  {'share':>6}  {'calls':>6}  kernel"]
        lines += [f"{row.seconds * 1e3:10.3f}  {row.seconds / (total or 1):6.1%}  {row.calls:6}  {row.kernel}" for row in self]
        return "\n".join([*lines, f"{total * 1e3:10.3f}  in all"])

    __repr__ = __str__


@contextlib.contextmanager
def profile():
    """Times every kernel that runs within the block, on the device and under torch.compile; gives a Profile, filled at its end.

        with torch_cresset.profile() as p:
            y = model(x)  # held: on the device, what nobody holds is not computed
        print(p)
    """
    result = Profile()
    _C.sync()
    _C.begin_profile()
    try:
        yield result
    finally:
        _C.sync()
        result.extend(ProfileRow(*row) for row in _C.end_profile())

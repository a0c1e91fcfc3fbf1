"""Reads ops/composites.yaml, the catalogue of composites; writes its C++ table and its documentation.

    - name: aten.gelu                # stablehlo.composite "aten.gelu"
      operators: [gelu]              # entries of ops/aten.yaml that are emitted as it; the first one's arguments are its attributes
      version: 1                     # of its meaning; grows when the decomposition computes something else
      backward: aten.gelu_backward   # the composite of its gradient
      aliases: [odml.gelu]           # foreign names of the same operator with the same operands (aten.<operator>.default are known)
      scalar: "x / (1 + exp(-x))"    # element-wise ones: what is computed, for raising; or a mapping from `approximate` to that
"""

import difflib

import yaml

KEYS = {"name", "operators", "version", "backward", "aliases", "scalar"}


class CatalogueError(Exception):
    """A mistake in the catalogue; its text says what to do."""


class Composite:
    def __init__(self, entry):
        self.name = entry["name"]
        self.operators = entry["operators"]
        self.version = entry.get("version", 1)
        self.backward = entry.get("backward", "")
        self.aliases = entry.get("aliases", [])
        scalar = entry.get("scalar", {})
        self.scalar = scalar if isinstance(scalar, dict) else {"": scalar}


def read(path, functions):
    """The composites; `functions` are the names in ops/aten.yaml."""
    entries = yaml.safe_load(path.read_text()) or []
    composites = {}
    emitted = {}
    for number, entry in enumerate(entries):
        where = f"{path}: entry {number + 1}"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry.get("operators"):
            raise CatalogueError(f"{where}: needs 'name' and 'operators': {entry!r}")
        where = f"{path}: {entry['name']}"
        for key in sorted(set(entry) - KEYS):
            near = difflib.get_close_matches(key, KEYS, n=1)
            raise CatalogueError(f"{where}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(KEYS))}"))
        if "." not in entry["name"]:
            raise CatalogueError(f"{where}: a composite's name has a namespace, as in aten.gelu")
        if entry["name"] in composites:
            raise CatalogueError(f"{where} is listed twice")
        if not isinstance(entry.get("version", 1), int) or entry.get("version", 1) < 1:
            raise CatalogueError(f"{where}: version is a number from 1 on, not {entry['version']!r}")
        for operator in entry["operators"]:
            if operator not in functions:
                near = difflib.get_close_matches(operator, functions, n=1)
                raise CatalogueError(f"{where}: operator {operator!r} is not in ops/aten.yaml" + (f"; did you mean {near[0]!r}?" if near else "; add '- func: NAME' there"))
            if operator in emitted:
                raise CatalogueError(f"{where}: operator {operator!r} belongs to {emitted[operator]} already")
            emitted[operator] = entry["name"]
        composites[entry["name"]] = Composite(entry)
    for composite in composites.values():
        if composite.backward and composite.backward not in composites:
            raise CatalogueError(f"{path}: {composite.name}: its backward {composite.backward!r} is not in the catalogue")
    return list(composites.values())


def text(string):
    return '"' + string.replace("\\", "\\\\").replace('"', '\\"') + '"'


def table(composites):
    """The body of generated/catalogue.inc: initialisers of composite::Entry, sorted by name."""
    lines = []
    for c in sorted(composites, key=lambda c: c.name):
        names = c.aliases + [f"aten.{o}{'' if '.' in o else '.default'}" for o in c.operators] + [f"aten.{o.partition('.')[0]}" for o in c.operators]
        aliases = ", ".join(text(a) for a in dict.fromkeys(names) if a != c.name)
        lines.append(f"{{{text(c.name)}, {c.version}, {text(c.backward)}, {{{aliases}}}}},\n")
    return "".join(lines)


def documentation(composites, attributes):
    """A Markdown table; `attributes` gives those of a composite as text."""
    rows = [f"| `{c.name}` | {c.version} | {attributes(c)} | {f'`{c.backward}`' if c.backward else ''} | {', '.join(f'`{a}`' for a in c.aliases)} |\n" for c in composites]
    return "| composite | version | attributes and defaults | backward | foreign names |\n|---|---|---|---|---|\n" + "".join(rows)

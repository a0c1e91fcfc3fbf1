"""Reads ops/composites.yaml, the catalogue of composites; writes its C++ table and its documentation.

    - name: aten.gelu                # stablehlo.composite "aten.gelu"
      operators: [gelu]              # entries of ops/aten.yaml that are emitted as it; the first one's arguments are its attributes
      implicit: l1_loss              # instead: an operator that PyTorch decomposes above every device; python/torch_cresset/operators.py keeps it whole
      gradient_of: aten.l1_loss      # instead: the gradient that autograd derives of an implicit one
      version: 1                     # of its meaning; grows when the decomposition computes something else
      backward: aten.gelu_backward   # the composite of its gradient
      aliases: [odml.gelu]           # foreign names of the same operator with the same operands (aten.<operator>.default are known)
      when: "dtype=f32|bf16, rank>=2"  # kept by default where this holds: the conditions of a pattern (composite/selection.h)
      tolerance: {f32: [1e-5, 1e-5], because: …}  # relative and absolute, between any two ways to compute it; default: torch.testing.assert_close's
      # What an element-wise composite computes, for raising; in C++ over double and dual numbers (composite/dual.h):
      scalar: "max(x, 0.0) + slope * min(x, 0.0)"
      recover: {slope: "-f(-1.0)"}   # attributes from values of the function f that was found
      fixed: {approximate: none}     # attributes that have this value
      variants: [{scalar: …}]        # other meanings, with other `fixed`
      slope: "1.0 - x * x"           # a gradient: the factor of the first operand, where that is not the derivative of the forward's
      piece: true                    # also a part of others' spellings, as the tanh of a GELU: a backward computes it again, as their gradients are raised from all their parts
"""

import argparse
import difflib
import functools
import importlib.util
import pathlib
import re
import sys

import yaml

KEYS = {"name", "operators", "implicit", "gradient_of", "version", "backward", "aliases", "when", "tolerance", "scalar", "recover", "fixed", "variants", "slope", "piece"}
ORIGINS = ("operators", "implicit", "gradient_of")
TOLERANCE = {"f64": (1e-7, 1e-7), "f32": (1.3e-6, 1e-5), "f16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5)}  # assert_close's


class CatalogueError(Exception):
    """A mistake in the catalogue; its text says what to do."""


class Composite:
    def __init__(self, entry):
        self.name = entry["name"]
        self.operators = entry.get("operators", [])
        self.implicit = entry.get("implicit", "")
        self.gradient_of = entry.get("gradient_of", "")
        self.version = entry.get("version", 1)
        self.backward = entry.get("backward", "")
        self.aliases = entry.get("aliases", [])
        self.fixed = entry.get("fixed", {})
        self.meanings = [entry, *entry.get("variants", [])] if "scalar" in entry else []
        self.slope = entry.get("slope", "")
        self.piece = entry.get("piece", False)
        self.when = entry.get("when", "")
        own = dict(entry.get("tolerance", {}))
        self.because = own.pop("because", "")
        self.own_tolerance = {dtype: tuple(values) for dtype, values in own.items()}
        self.tolerance = TOLERANCE | self.own_tolerance


def read(path, functions=None):
    """The composites; `functions`, if given, are the names in ops/aten.yaml."""
    entries = yaml.safe_load(path.read_text()) or []
    composites = {}
    emitted = {}
    for number, entry in enumerate(entries):
        where = f"{path}: entry {number + 1}"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not any(entry.get(key) for key in ORIGINS):
            raise CatalogueError(f"{where}: needs 'name' and 'operators': {entry!r}")
        where = f"{path}: {entry['name']}"
        for key in sorted(set(entry) - KEYS):
            near = difflib.get_close_matches(key, KEYS, n=1)
            raise CatalogueError(f"{where}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(KEYS))}"))
        if sum(key in entry for key in ORIGINS) > 1:
            raise CatalogueError(f"{where}: one of 'operators', 'implicit' and 'gradient_of' says where it comes from")
        tolerance = entry.get("tolerance", {})
        for dtype in set(tolerance) - {"because"}:
            if dtype not in TOLERANCE or not (isinstance(tolerance[dtype], list) and len(tolerance[dtype]) == 2 and all(isinstance(v, float) for v in tolerance[dtype])):
                raise CatalogueError(f"{where}: tolerance is {{DTYPE: [relative, absolute]}} with DTYPE among {', '.join(TOLERANCE)}, not {dtype}: {tolerance[dtype]!r}")
        if tolerance and not tolerance.get("because"):
            raise CatalogueError(f"{where}: a tolerance other than assert_close's says why: because: …")
        for condition in entry.get("when", "").split(",") if "when" in entry else ():
            if not re.fullmatch(r"\s*\w+\s*(=|!=|<|<=|>|>=)\s*[\w.|-]+\s*", condition):
                raise CatalogueError(f"{where}: when: {condition.strip()!r} is no condition; write as in dtype=f32|bf16, rank>=2")
        if "." not in entry["name"]:
            raise CatalogueError(f"{where}: a composite's name has a namespace, as in aten.gelu")
        if entry["name"] in composites:
            raise CatalogueError(f"{where} is listed twice")
        if not isinstance(entry.get("version", 1), int) or entry.get("version", 1) < 1:
            raise CatalogueError(f"{where}: version is a number from 1 on, not {entry['version']!r}")
        if not isinstance(entry.get("piece", False), bool):
            raise CatalogueError(f"{where}: piece is true or false, not {entry['piece']!r}")
        for operator in entry.get("operators", []):
            if functions is not None and operator not in functions:
                near = difflib.get_close_matches(operator, functions, n=1)
                raise CatalogueError(f"{where}: operator {operator!r} is not in ops/aten.yaml" + (f"; did you mean {near[0]!r}?" if near else "; add '- func: NAME' there"))
            if operator in emitted:
                raise CatalogueError(f"{where}: operator {operator!r} belongs to {emitted[operator]} already")
            emitted[operator] = entry["name"]
        composites[entry["name"]] = Composite(entry)
    for composite in composites.values():
        if composite.backward and composite.backward not in composites:
            raise CatalogueError(f"{path}: {composite.name}: its backward {composite.backward!r} is not in the catalogue")
        if composite.gradient_of and not (composite.gradient_of in composites and composites[composite.gradient_of].implicit):
            raise CatalogueError(f"{path}: {composite.name}: {composite.gradient_of!r} is no implicit composite of the catalogue")
    return list(composites.values())


def text(string):
    return '"' + string.replace("\\", "\\\\").replace('"', '\\"') + '"'


def attribute(name, value):
    """An initialiser of composite::Constant."""
    kinds = {bool: "bool", int: "int64_t", float: "double", str: "std::string"}
    shown = text(value) if isinstance(value, str) else str(value).lower()
    return f"{{{text(name)}, {kinds[type(value)]}({shown})}}"


def attribute_names(operator):
    """The arguments of an operator that are no tensors, by PyTorch's own list of schemas; "*", any, where that is not installed or does not have it.

    Of some it lists the in-place form only."""
    spec = importlib.util.find_spec("torchgen")
    path = spec and pathlib.Path(spec.origin).parent / "packaged/ATen/native/native_functions.yaml"
    if not path or not path.exists():
        return ["*"]
    found = re.search(rf"^- func: {re.escape(operator)}_?\((.*?)\) ->", schemas(path), re.MULTILINE)
    if not found:
        return ["*"]
    arguments = re.findall(r"([\w.]+(?:\([^)]*\))?(?:\[\d*\])?\??) (\w+)(?:=[^,]+)?(?:,|$)", found[1].replace("*, ", ""))
    return [name for kind, name in arguments if not kind.startswith("Tensor")]


@functools.cache
def schemas(path):
    return path.read_text()


def table(composites):
    """The body of generated/catalogue.inc: initialisers of composite::Entry, sorted by name."""
    lines = []
    implicit = {c.name: c.implicit for c in composites}
    for c in sorted(composites, key=lambda c: c.name):
        names = c.aliases + [f"aten.{o}{'' if '.' in o else '.default'}" for o in c.operators] + [f"aten.{o.partition('.')[0]}" for o in c.operators]
        aliases = ", ".join(text(a) for a in dict.fromkeys(names) if a != c.name)
        fixed = ", ".join(attribute(k, v) for k, v in c.fixed.items())
        operators = c.operators or [implicit[c.gradient_of or c.name]]
        listed = dict.fromkeys([a for o in operators for a in attribute_names(o)] + ["output_mask"] * bool(c.gradient_of))
        attributes = ", ".join(text(a) for a in listed if a != "*" or len(listed) == 1)
        slope = f"[](double x) -> double {{ return {c.slope}; }}" if c.slope else "nullptr"
        lines.append(f"{{{text(c.name)}, {c.version}, {text(c.backward)}, {{{aliases}}}, {{{fixed}}}, {{{attributes}}}, {slope}, {text(c.when)}, {text(c.implicit)}, {str(c.piece).lower()}}},\n")
    return "".join(lines)


def references(composites):
    """The body of generated/references.inc: initialisers of composite::Scalar."""
    lines = []
    for c in composites:
        for meaning in c.meanings:
            recover = meaning.get("recover", {})
            solve = ", ".join(f"{{{text(a)}, [](const Function& f) -> double {{ return {formula}; }}}}" for a, formula in recover.items())
            fixed = ", ".join(attribute(k, v) for k, v in meaning.get("fixed", {}).items())
            formula = meaning["scalar"]
            for i, a in enumerate(recover):
                formula = re.sub(rf"\b{a}\b", f"p[{i}]", formula)
            lines.append(f"{{{text(c.name)}, {{{fixed}}}, {{{solve}}}, [](Dual x, const double* p) -> Dual {{ (void)p; return {formula}; }}}},\n")
    return "".join(lines)


def documentation(composites, attributes):
    """A Markdown table; `attributes` gives those of a composite as text."""
    def tolerance(c):
        return "; ".join(f"{dtype}: {relative:g}, {absolute:g}" for dtype, (relative, absolute) in c.own_tolerance.items()) + (f" ({c.because})" if c.because else "")

    rows = [f"| `{c.name}` | {c.version} | {attributes(c)} | {f'`{c.backward}`' if c.backward else ''} | {', '.join(f'`{a}`' for a in c.aliases)} "
            f"| {f'`{c.when}`'.replace('|', chr(92) + '|') if c.when else ''} | {tolerance(c)} |\n" for c in composites]
    return "| composite | version | attributes and defaults | backward | foreign names | kept by default when | tolerance |\n|---|---|---|---|---|---|---|\n" + "".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--composites", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    try:
        composites = read(options.composites)
    except CatalogueError as error:
        sys.exit(f"error: {error}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name, content in (("catalogue.inc", table(composites)), ("references.inc", references(composites))):
        (options.out / name).write_text(f"// Generated by codegen/catalogue.py from {options.composites.name}. Do not edit.\n" + content)


if __name__ == "__main__":
    main()

"""Reads ops/aten.yaml and PyTorch's own native_functions.yaml; writes the device's kernels, the operators' descriptions and
the declarations of their lowerings.

    python codegen/generate.py --ops ops/aten.yaml --composites ops/composites.yaml --lowerings src/lowering --out build/src/generated

Which operators are emitted as composites says ops/composites.yaml (codegen/catalogue.py).

An entry of ops/aten.yaml names a functional overload and says how it is treated:

    - func: gelu            # as in native_functions.yaml: name or name.overload
      when: "dim >= 0"      # C++ over the arguments; where it is false the operator falls back to the CPU (counted)
      otherwise: "f(self)"  # with `when`: what is returned instead of falling back
      check: "f(op, index)" # C++ over `op` (trace::Operator) and the arguments, run before the operator is recorded; raises
      shape: own            # result shapes from shapes::<name> instead of PyTorch's meta function, or C++ that gives them; needed where PyTorch's is
                            # written in Python, which imports Dynamo when it is first called
      numbers: [lr]         # Scalar or float arguments that are inputs of the program from the start
      settings: [beta1]     # float arguments that are inputs from when they have changed (Recorder::settings)
      constants: [ord]      # Scalar arguments whose value decides what is emitted: never an input of the program
      ignored: [max_q]      # arguments that the result does not depend on: neither recorded nor lowered
      kernel: own           # recorded by a kernel written by hand in src/device; only description and declaration are generated
      whole: true           # a gradient operator that PyTorch would decompose: kept whole (it has no second derivative then)
      computes_as_out: true # its out variants compute in the dtype of `out` where none is given
      random: true          # two more lowering arguments: seed and offset of the device's generator
      eager: mul            # what PyTorch computes it with on the CPU, if not by the operator of this name: sizes that come for the first time may be left to that (src/trace/eager_program.h).
                            # none: by nothing, or nothing with the same results; it is compiled then. So is what draws numbers.

In-place and out variants come from the same entry. Factories, which reach a device as their out overload only, are listed as that
(arange.start_out).
"""

import argparse
import difflib
import pathlib
import re
import sys

import catalogue
import yaml
from torchgen import local
from torchgen.api import cpp
from torchgen.api.types import NativeSignature
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import BaseTy, BaseType, ListType, NativeFunctionsGroup, OptionalType
from torchgen.packaged import __path__ as packaged_path

KEYS = {"func", "eager", "ignored", "when", "otherwise", "check", "shape", "numbers", "settings", "constants", "kernel", "random", "whole", "computes_as_out"}
IGNORED = {BaseTy.Layout, BaseTy.Device, BaseTy.MemoryFormat}
PARTS = 4


def has_dtype(type):
    """Whether an argument of this type has a dtype, or is one."""
    if isinstance(type, OptionalType):
        return has_dtype(type.elem) and not isinstance(type.elem, ListType)
    if isinstance(type, ListType):
        return type.elem == BaseType(BaseTy.Tensor)  # a list of optional tensors is a list of indices
    return isinstance(type, BaseType) and type.name in (BaseTy.Tensor, BaseTy.Scalar, BaseTy.ScalarType)


class TableError(Exception):
    """A mistake in the table; its text says what to do."""


def identifier(name, functions):
    """C++ name of an overload's lowering: add.Tensor → add, pow.Tensor_Scalar → pow_Tensor_Scalar."""
    base, _, overload = name.partition(".")
    return base if not overload or (overload == "Tensor" and base not in functions) else f"{base}_{overload}"


class LineLoader(yaml.SafeLoader):
    """Keeps the line that each entry begins on."""

    def construct_mapping(self, node, deep=False):
        return super().construct_mapping(node, deep) | {"line": node.start_mark.line + 1}


def read_table(path):
    try:
        entries = yaml.load(path.read_text(), LineLoader)
    except yaml.YAMLError as error:
        raise TableError(f"{path}: not valid YAML: {error}")
    if not isinstance(entries, list):
        raise TableError(f"{path}: expected a list of entries '- func: NAME'")
    seen = {}
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise TableError(f"{path}: entry {i + 1} is {entry!r}; write '- func: {entry}'")
        where = f"{path}:{entry.pop('line')}"
        if not isinstance(entry.get("func"), str):
            raise TableError(f"{where}: entry {i + 1} has no 'func': {entry!r}")
        unknown = sorted(set(entry) - KEYS)
        if unknown:
            near = difflib.get_close_matches(unknown[0], KEYS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(KEYS))}"
            raise TableError(f"{where}: {entry['func']}: unknown key {unknown[0]!r}{hint}")
        for key in ("random", "whole"):
            if not isinstance(entry.get(key, False), bool):
                raise TableError(f"{where}: {entry['func']}: {key} is true or false, not {entry[key]!r}")
        if entry.get("kernel", "own") != "own":
            raise TableError(f"{where}: {entry['func']}: kernel can only be 'own', not {entry['kernel']!r}")
        shape = entry.get("shape", "own")
        if not isinstance(shape, str) or (shape != "own" and "shapes::" not in shape):
            raise TableError(f"{where}: {entry['func']}: shape is 'own' or a call of what src/device/shapes.h declares, as shapes::elementwise(…), not {shape!r}")
        if entry["func"] in seen:
            raise TableError(f"{where}: {entry['func']} is listed twice; the first is in line {seen[entry['func']]}")
        seen[entry["func"]] = where.rpartition(":")[2]
        entry["where"] = where
    return entries


class Argument:
    """One argument of the schema: how it is recorded, decoded and declared."""

    def __init__(self, argument, numbers=(), settings=(), constants=(), ignored=()):
        self.name = argument.name
        self.default = argument.default
        self.optional = isinstance(argument.type, OptionalType)
        inner = argument.type.elem if self.optional else argument.type
        self.list = isinstance(inner, ListType)
        if self.list:
            inner = inner.elem
            self.optional_elements = isinstance(inner, OptionalType)
            if self.optional_elements:
                inner = inner.elem
        if not isinstance(inner, BaseType):
            raise TableError(f"argument {argument.name} of type {argument.type} is not supported by codegen/generate.py")
        self.base = inner.name
        self.number = argument.name in numbers
        self.constant = argument.name in constants
        self.tensor = self.base == BaseTy.Tensor
        self.ignored = self.base in IGNORED or argument.name == "pin_memory" or argument.name in ignored
        self.generator = self.base == BaseTy.Generator
        self.scalar = self.base == BaseTy.Scalar or self.number or argument.name in settings

    def record(self):
        if self.base == BaseTy.MemoryFormat:
            return f"r.distinguish({self.name});"
        if self.ignored or self.generator:
            return ""
        if self.tensor:
            return f'r.tensor{"s" if self.list else ""}({self.name}, "{self.name}");'
        if self.number:
            return f"r.number({self.name});"
        if self.constant and self.optional:
            return f"r.attribute({self.name} ? trace::Attribute({self.name}->toDouble()) : trace::Attribute());"
        if self.constant:
            return f"r.attribute({self.name}.isIntegral(true) ? trace::Attribute({self.name}.toLong()) : trace::Attribute({self.name}.toDouble()));"
        if self.scalar:
            return f"r.scalar({self.name});"
        if self.list or self.optional or self.base == BaseTy.str:
            return f"r.attribute({self.name});"
        cast = {BaseTy.int: "int64_t", BaseTy.SymInt: "int64_t", BaseTy.float: "double", BaseTy.bool: "bool", BaseTy.ScalarType: "at::ScalarType"}
        return f"r.attribute(trace::Attribute({cast[self.base]}({self.name})));"

    def declared(self):
        """Type in the lowering's declaration."""
        if self.tensor:
            return "llvm::ArrayRef<Value>" if self.list else "Value"
        base = {BaseTy.int: "int64_t", BaseTy.SymInt: "int64_t", BaseTy.float: "double", BaseTy.bool: "bool",
                BaseTy.ScalarType: "at::ScalarType", BaseTy.str: "llvm::StringRef", BaseTy.Scalar: "Scalar"}[self.base]
        if self.scalar:
            base = "Scalar"
        if self.list:
            base = "const std::vector<bool>&" if base == "bool" else f"llvm::ArrayRef<{base}>"
        return f"std::optional<{base}>" if self.optional else base

    def decode(self):
        if self.tensor:
            return "d.tensors()" if self.list else "d.tensor()"
        kind = {BaseTy.int: "integer", BaseTy.SymInt: "integer", BaseTy.float: "number", BaseTy.bool: "boolean",
                BaseTy.ScalarType: "dtype", BaseTy.str: "string", BaseTy.Scalar: "scalar"}[self.base]
        if self.scalar:
            kind = "scalar"
        if self.list:
            kind += "s"
        return f"d.{'optional_' if self.optional else ''}{kind}()"


def attribute_text(arguments):
    """A composite's attributes with their defaults, for the documentation."""
    shown = [a for a in arguments if not (a.ignored or a.generator or a.tensor or a.number)]
    return ", ".join(f"{a.name}" + ("" if a.default is None else f" = {a.default}") for a in shown)


class Entry:
    def __init__(self, entry, group, function, functions):
        self.name = entry["func"]
        self.options = entry
        self.composite = None  # its name
        self.function = function
        self.group = group
        self.id = identifier(self.name, functions)
        schema = function.func
        try:
            self.arguments = [Argument(a, entry.get("numbers", []), entry.get("settings", []), entry.get("constants", []), entry.get("ignored", [])) for a in schema.arguments.flat_non_out]
        except TableError as error:
            raise TableError(f"{entry['where']}: {self.name}: {error}")
        names = [a.name for a in self.arguments]
        for key in ("numbers", "settings", "constants", "ignored"):
            for argument in entry.get(key, []):
                if argument not in names:
                    raise TableError(f"{entry['where']}: {self.name}: {key} names {argument!r}, but the arguments are {', '.join(names)}")
        self.factory = schema.kind().name == "out"
        self.results = len(schema.returns)
        self.result_list = self.results == 1 and isinstance(schema.returns[0].type, ListType)
        self.random = entry.get("random", False) or any(a.generator for a in self.arguments)
        self.eager = entry.get("eager", "none" if self.random else self.base)
        if self.eager != "none" and self.eager not in {name.partition(".")[0] for name in functions}:
            raise TableError(f"{entry['where']}: {self.name}: eager is {self.eager!r}, which is no operator of PyTorch; 'none' if the CPU has no such operator")

    @property
    def base(self):
        return self.name.partition(".")[0]

    @property
    def overload(self):
        return self.name.partition(".")[2]


    def declaration(self):
        arguments = [f"{a.declared()} {a.name}" for a in self.arguments if not (a.ignored or a.generator)]
        if self.random:
            arguments += ["Scalar seed", "Scalar offset"]
        result = "Value" if self.results == 1 and not self.result_list else "Values"
        return f"{result} {self.id}(Builder& b{''.join(', ' + a for a in arguments)});"

    def operator(self):
        names = ", ".join(f'"{a.name}"' for a in self.arguments if not a.ignored and not a.generator and (not a.tensor or a.list))
        if self.random:
            names += (", " if names else "") + '"seed", "offset"'
        decoded = "".join(f", {a.decode()}" for a in self.arguments if not (a.ignored or a.generator))
        if self.random:
            decoded += ", d.scalar(), d.scalar()"
        composite = f'"{self.composite}"' if self.composite else "nullptr"
        eager = f'"aten::{self.eager}"' if self.eager != "none" else "nullptr"
        # Braces keep the decoding in the order of the arguments.
        locals_ = "".join(f" auto&& a{i} = {x};" for i, x in enumerate(decoded.split(", ")[1:]))
        passed = "".join(f", a{i}" for i in range(len(decoded.split(", ")) - 1))
        return (f'static Counter {self.id}_counter("cresset::{self.base}");\n'
                f'static const char* const {self.id}_attributes[] = {{{names}{", " if names else ""}nullptr}};\n'
                f'const trace::Operator {self.id}{{"aten::{self.base}", "{self.overload}", &{self.id}_counter, {composite},\n'
                f"    [](Builder& b, const trace::Node& n) {{ Decoder d(b, n);{locals_} b.set_results(aten::{self.id}(b{passed})); }},\n"
                f"    {self.id}_attributes, {eager}}};\n")

    def kernel(self, variant):
        """One kernel; variant is the torchgen function of the functional, in-place or out form."""
        with local.parametrize(use_const_ref_for_mutable_tensors=variant.use_const_ref_for_mutable_tensors,
                               use_ilistref_for_tensor_lists=variant.part_of_structured_group):
            return self.kernel_text(variant)

    def kernel_text(self, variant):
        kind = variant.func.kind().name
        signature = NativeSignature(variant.func, symint=False)
        name = "kernel_" + str(variant.func.name).replace(".", "_")
        arguments = ", ".join(a.name for a in signature.arguments())
        overload = variant.func.name.overload_name
        op = f"ATEN_OP2({variant.func.name.name}, {overload})" if overload else f"ATEN_OP({variant.func.name.name})"
        fallback = f"at::native::call_fallback_fn<&device::fallback, {op}>::call({arguments})"
        typed = [a.name for a in variant.func.arguments.flat_all if has_dtype(a.type)]
        lines = [f"if ({' || '.join(f'device::without_code({a})' for a in typed)}) return {fallback};"] if typed else []
        if "when" in self.options:
            lines.append(f'if (!({self.options["when"]})) return {self.options["otherwise"] if "otherwise" in self.options and kind != "out" else fallback};')
        if "check" in self.options:
            lines.append(f"{{ [[maybe_unused]] const trace::Operator& op = op::{self.id}; {self.options['check']}; }}")
        if kind == "out" and self.options.get("computes_as_out"):
            lines.append("if (!dtype) dtype = out.scalar_type();")
        lines.append(f"trace::Recorder r(op::{self.id}{', true' if kind == 'inplace' else ''});")
        lines += [a.record() for a in self.arguments if a.record()]
        if self.factory:
            # The shape may depend on the values.
            lines += [f"r.distinguish({a.name});" for a in self.arguments if a.scalar]
            lines.append("r.attribute(trace::Attribute(out.scalar_type()));")
        if self.random:
            generator = next((a.name for a in self.arguments if a.generator), "std::nullopt")
            lines.append(f"r.random(device::next_random({generator}));")
        passed = "".join(", r.meta(%s)" % a.name if a.tensor and not (a.list and a.optional_elements) else
                         ", std::optional<at::Generator>()" if a.generator else ", " + a.name for a in self.arguments)
        if "shape" in self.options:
            inputs = [a.name for a in self.arguments if not (a.ignored or a.generator)] + (["out"] if self.factory else [])
            shape = self.options["shape"] if self.options["shape"] != "own" else f"shapes::{self.id}({', '.join(inputs)})"
            lines.append(f"r.infer_layouts([&] {{ return {shape}; }});")
        else:
            # The C++ meta function of a structured operator; the dispatcher would find Python's reference in its place.
            structured = self.function.structured or self.function.structured_delegate is not None
            call = f"at::meta::{cpp.name(self.function.func)}({passed[2:]})" if structured else \
                f"at::redispatch::{cpp.name(self.function.func)}(r.keys(){passed})"
            lines.append(f"r.infer([&] {{ return {call}; }});")
        results = [a.name for a in variant.func.arguments.out] if kind == "out" else []
        if kind == "functional":
            if self.result_list:
                lines.append("return r.all_results();")
            elif self.results == 1:
                lines.append("return r.result();")
            else:
                lines.append(f"return r.results(std::make_index_sequence<{self.results}>());")
        elif kind == "inplace":
            lines += ["r.write(self);", "return self;"]
        else:
            lines += [f"r.write_out({name_}, {i});" for i, name_ in enumerate(results)]
            lines.append(f"return {results[0]};" if len(results) == 1 else
                         f"return {signature.returns_type().cpp_type()}({', '.join(results)});")
        body = "\n  ".join(lines)
        return name, f"{signature.defn(name)} {{\n  {body}\n}}\n"

    def variants(self):
        if self.options.get("kernel") == "own":
            return []
        if self.factory:
            return [self.function]
        if not isinstance(self.group, NativeFunctionsGroup) or self.function.func.kind().name == "out":
            return [self.function]
        names = {a.name for a in self.arguments}
        return [f for f in (self.group.functional, self.group.inplace, self.group.out)
                if f is not None and names <= {a.name for a in f.func.arguments.flat_all}]


def native_functions():
    root = pathlib.Path(list(packaged_path)[0]) / "ATen" / "native"
    parsed = parse_native_yaml(str(root / "native_functions.yaml"), str(root / "tags.yaml"))
    by_name = {}
    for group in get_grouped_native_functions(parsed.native_functions):
        functions = group.functions() if isinstance(group, NativeFunctionsGroup) else [group]
        for function in functions:
            by_name[str(function.func.name)] = (group, function)
    return by_name


def resolve(entries, functions):
    resolved = []
    for entry in entries:
        name = entry["func"]
        if name not in functions:
            overloads = [n for n in functions if n.partition(".")[0] == name.partition(".")[0]]
            hint = ", ".join(overloads[:8] or difflib.get_close_matches(name, functions, n=3))
            raise TableError(f"{entry['where']}: {name} is no operator of PyTorch" + (f"; did you mean {hint}?" if hint else "; see native_functions.yaml"))
        group, function = functions[name]
        where = entry["where"]
        kind = function.func.kind().name
        factory = kind == "out" and not any(a.type.is_tensor_like() for a in function.func.arguments.flat_non_out)
        if kind not in ("functional", "inplace") and not factory and entry.get("kernel") != "own":
            raise TableError(f"{where}: {name} is an {kind} overload; list the functional one, its variants are generated from it")
        if factory and entry.get("shape") != "own":
            raise TableError(f"{where}: {name} makes a tensor from nothing; add 'shape: own' and write shapes::{identifier(name, functions)}")
        if function.has_composite_implicit_autograd_kernel and not entry.get("whole"):
            raise TableError(f"{where}: {name} decomposes before it reaches a device; a kernel for it would lose its gradient. "
                             "List the operators it decomposes to")
        resolved.append(Entry(entry, group, function, functions))
    return resolved


def check_lowerings(entries, folder, table):
    """Every entry needs a definition in src/lowering, every definition in namespace aten an entry."""
    defined = {}
    for path in sorted(folder.glob("*.cpp")):
        text = re.sub(r"\nnamespace \{\n.*?\n\}  // namespace\n", "\n", path.read_text(), flags=re.DOTALL)
        at = re.search(r"^namespace (cresset::lowering::)?aten \{", text, re.MULTILINE)
        if at:
            text = text[at.start():]
            defined |= {name: path for name in re.findall(r"^Values? (\w+)\(Builder& b\b", text, re.MULTILINE)}
    missing = [e for e in entries if e.id not in defined]
    if missing:
        raise TableError("lowerings are missing; write in src/lowering/ (a file per family):\n\n" +
                         "\n".join("    " + e.declaration()[:-1] + " { … }" for e in missing))
    known = {e.id for e in entries}
    extra = [f"    {path}: {name}" for name, path in defined.items() if name not in known]
    if extra:
        raise TableError(f"lowerings without an entry in {table}; add '- func: NAME' for each, or remove it (or make it static):\n\n" +
                         "\n".join(extra))


HEADER = "// Generated by codegen/generate.py from ops/aten.yaml. Do not edit.\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(entries, composites, functions, out):
    write(out / "lowerings.h", HEADER + '#pragma once\n#include "lowering/builder.h"\n\nnamespace cresset::lowering::aten {\n\n' +
          "\n".join(e.declaration() for e in entries) + "\n\n}  // namespace cresset::lowering::aten\n")
    write(out / "operators.h", HEADER + '#pragma once\n#include "trace/node.h"\n\nnamespace cresset::op {\n\n' +
          "\n".join(f"extern const trace::Operator {e.id};" for e in entries) + "\n\n}  // namespace cresset::op\n")
    write(out / "operators.cpp", HEADER + '#include "generated/operators.h"\n#include "generated/lowerings.h"\n#include "lowering/decoder.h"\n\n'
          "namespace cresset::op {\n\nusing namespace lowering;\n\n" + "\n".join(e.operator() for e in entries) + "\n}  // namespace cresset::op\n")
    kernels = []
    for e in entries:
        for variant in e.variants():
            name, text = e.kernel(variant)
            kernels.append((str(variant.func.name), name, text))
    for part in range(PARTS):
        mine = kernels[part::PARTS]
        write(out / f"kernels_{part}.cpp", HEADER + '#include <algorithm>\n#include <ATen/MetaFunctions.h>\n#include <ATen/RedispatchFunctions.h>\n#include <ATen/native/CPUFallback.h>\n#include <torch/library.h>\n\n#include "device/checks.h"\n#include "device/fallback.h"\n'
              '#include "device/generator.h"\n#include "device/indices.h"\n#include "device/masks.h"\n#include "device/shapes.h"\n#include "generated/operators.h"\n#include "trace/recorder.h"\n\n'
              "namespace cresset {\nnamespace {\n\n" + "\n".join(text for _, _, text in mine) +
              "\nTORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n" +
              "".join(f'  m.impl("{schema}", TORCH_FN({name}));\n' for schema, name, _ in mine) + "}\n\n}  // namespace\n}  // namespace cresset\n")
    by_name = {e.name: e for e in entries}
    by_composite = {c.name: c for c in composites}

    def attributes(c):
        if c.operators:
            return attribute_text(by_name[c.operators[0]].arguments)
        implicit = by_composite[c.gradient_of or c.name].implicit
        text = attribute_text([Argument(a) for a in functions[implicit][1].func.arguments.flat_non_out])
        return text + (", output_mask" if c.gradient_of else "")

    write(out / "composites.md", "# Composites\n\nGenerated from `ops/composites.yaml`.\n\n" +
          catalogue.documentation(composites, attributes))
    write(out / "operators.md", "# Operators\n\nGenerated from `ops/aten.yaml`.\n\n| operator | composite | condition |\n|---|---|---|\n" +
          "".join(f"| `{e.name}` | {f'`{e.composite}`' if e.composite else ''} | {e.options.get('when', '')} |\n" for e in entries))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=pathlib.Path, required=True)
    parser.add_argument("--composites", type=pathlib.Path)
    parser.add_argument("--lowerings", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    try:
        functions = native_functions()
        entries = resolve(read_table(options.ops), functions)
        check_lowerings(entries, options.lowerings, options.ops)
        composites = catalogue.read(options.composites, [e.name for e in entries]) if options.composites else []
        for c in composites:
            if c.implicit and c.implicit not in functions:
                raise catalogue.CatalogueError(f"{options.composites}: {c.name}: {c.implicit!r} is no operator of PyTorch")
    except (TableError, catalogue.CatalogueError) as error:
        sys.exit(f"error: {error}")
    for entry in entries:
        entry.composite = next((c.name for c in composites if entry.name in c.operators), None)
    generate(entries, composites, functions, options.out)


if __name__ == "__main__":
    main()

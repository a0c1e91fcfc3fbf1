"""lit over StableHLO text: CRESSET_BIN names the folder of cresset-opt and cresset-run, LLVM_BIN that of FileCheck and not."""

import os

import lit.formats

config.name = "cresset"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ["LIT_OUT"]
config.environment["CRESSET_CHECK_KEYS"] = "1"
if "CRESSET_ANY_SIZE" in os.environ:
    config.environment["CRESSET_ANY_SIZE"] = os.environ["CRESSET_ANY_SIZE"]
config.environment["PATH"] = os.pathsep.join([os.environ["CRESSET_BIN"], os.environ["LLVM_BIN"], os.environ["PATH"]])

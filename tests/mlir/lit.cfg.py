"""lit over StableHLO text: CRESSET_BIN names the folder of cresset-opt and cresset-run, LLVM_BIN that of FileCheck and not."""

import os

import lit.formats

config.name = "cresset"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ["LIT_OUT"]
config.environment["CRESSET_CHECK_KEYS"] = "1"
config.environment["CRESSET_CACHE_DIR"] = os.path.join(os.environ["LIT_OUT"], "kernels")  # of this suite alone: kernels of any size are not made where others are found
any_size = "CRESSET_ANY_SIZE" in os.environ
if any_size:
    config.environment["CRESSET_ANY_SIZE"] = os.environ["CRESSET_ANY_SIZE"]
# Of 1100 terms of size 1. Kernels of any size add up to 768 of them one after the other, each sum rounded: 2^-25 * 768 / sqrt(2) = 1.6e-5, of which the largest of thousands is four times as much.
config.substitutions.append(("%longest_sums", "6e-5" if any_size else "3e-5"))
config.environment["PATH"] = os.pathsep.join([os.environ["CRESSET_BIN"], os.environ["LLVM_BIN"], os.environ["PATH"]])

# IR tests: every .mlir file below test/ is run by its RUN lines.
import os

import lit.formats

config.name = "minigptc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["golden", "package", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.minigptc_obj, "lit")
config.environment["PATH"] = os.pathsep.join(
    [config.minigptc_bin, config.llvm_tools, config.environment["PATH"]])
for name in ("XDG_CACHE_HOME", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# %exit 2 CMD: succeeds if CMD's exit status is 2 (or one of a list, as 1,2).
config.substitutions.append(
    ("%exit", "bash " + os.path.join(config.test_source_root, "integration", "Inputs", "expect_exit.sh")))
# %stubs: the folder of stand-ins of NVIDIA's libraries. %gpu CMD: a machine that has all of them.
stubs = os.path.join(config.minigptc_obj, "integration", "stubs")
config.substitutions.append(("%stubs", stubs))
config.substitutions.append(("%gpu", "env LD_LIBRARY_PATH=" + os.pathsep.join(
    os.path.join(stubs, name) for name in ("driver", "blas", "nccl"))))

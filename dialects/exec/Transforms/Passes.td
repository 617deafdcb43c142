//===- Passes.td - passes within the exec dialect -------------------------===//
//
// Each pass FooBar is --exec-foo-bar, in FooBar.cpp, tested by foo_bar.mlir.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_EXEC_PASSES_TD
#define MINIGPTC_EXEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExecInlineBlocks : Pass<"exec-inline-blocks", "::mlir::ModuleOp"> {
  let summary = "replaces calls of blocks of one instruction by the instruction";
  let description = [{
    A function that several callers share is a block, even where one kernel is left
    of it: an optimizer's update of a parameter. A call of such a block costs as
    much as what it calls, and hides that many calls run one kernel. The instruction
    takes the call's operands; its pieces of the frame lie in the caller's.
    Blocks that nothing calls any more go.

    ```mlir
    exec.block @update(%p: memref<4xf32>, %g: memref<4xf32>, %out: memref<4xf32>) inputs 2 frame 0 {
      exec.launch @adamw ins(%p, %g : …) outs(%out : …)
      exec.return
    }
    exec.call @update ins(%w, %dw : …) outs(%w1 : …) frame 0
    ```
    becomes
    ```mlir
    exec.launch @adamw ins(%w, %dw : …) outs(%w1 : …)
    ```
  }];
}

def ExecGroupLaunches : Pass<"exec-group-launches", "::mlir::ModuleOp"> {
  let summary = "one launch for independent launches of one kernel";
  let description = [{
    The update of the parameters is a launch for each of them, so are the sums of the
    gradients' squares; many are too small for all threads of a device. Launches of one
    kernel that touch none of one another's memory become groups of one launch, whose
    work items are those of all groups. A launch moves up to the first one of its kernel
    that no instruction in between hinders: one that writes what it reads or writes, or
    reads what it writes. Memory is planned already, and stays as it is.

    ```mlir
    exec.launch @adamw ins(%w, %dw : …) outs(%w1 : …)
    exec.gemm …
    exec.launch @adamw ins(%v, %dv : …) outs(%v1 : …)
    ```
    becomes
    ```mlir
    exec.launch @adamw groups = 2 ins(%w, %dw, %v, %dv : …) outs(%w1, %v1 : …)
    exec.gemm …
    ```
  }];
}

#endif // MINIGPTC_EXEC_PASSES_TD

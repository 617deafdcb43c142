//===- Passes.td - from graph functions to exec blocks --------------------===//
#ifndef MINIGPTC_GRAPHTOEXEC_PASSES_TD
#define MINIGPTC_GRAPHTOEXEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerAllSlices : Pass<"lower-all-slices"> {
  let summary = "this device's part of a tensor by its number";
  let description = [{
    `dist.all_slice` sends nothing: it is a slice at a place that the device's number
    along the axes says, and so can be a part of a kernel.

    ```mlir
    %y = dist.all_slice %x over @mesh ["data"] dims = [0] : (tensor<8xf32>) -> tensor<2xf32>
    // becomes
    %i = dist.axis_index @mesh ["data"] : tensor<i64>
    %c = graph.constant dense<2> : tensor<i64>
    %s = graph.multiply %i, %c : tensor<i64>
    %y = graph.dynamic_slice %x[%s] sizes = [2] : (tensor<8xf32>, tensor<i64>) -> tensor<2xf32>
    ```
  }];
  let dependentDialects = ["::minigptc::graph::GraphDialect", "::minigptc::dist::DistDialect"];
}

def ConvertGraphToExec : Pass<"convert-graph-to-exec", "::mlir::ModuleOp"> {
  let summary = "functions to blocks of instructions with planned memory";
  let description = [{
    Tensors become buffers: inputs, outputs, constants and pieces of a frame
    whose size and offsets are fixed here, from lifetimes. Calls of kernels
    become launches, products GEMMs, reshapes views, host calls scalar programs,
    calls of other functions calls of their blocks, whose frame lies in the
    caller's while they run. A function called L times is one block.

    Results are computed in the output's buffer, a donated input's among them,
    where nothing reads the old contents any more; elementwise kernels write
    over inputs that die. See BufferAssignment.h.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = call @l(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    // becomes
    exec.block @main(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 64 {
      %0 = exec.frame 0 : memref<4xf32>
      exec.launch @k ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
      exec.launch @l ins(%0 : memref<4xf32>) outs(%y : memref<4xf32>)
      exec.return
    }
    ```
    Kernels (`exec.kernel`) and host programs (`graph.host`) stay functions.
  }];
  let dependentDialects = ["::minigptc::exec::ExecDialect", "::mlir::memref::MemRefDialect"];
}

#endif // MINIGPTC_GRAPHTOEXEC_PASSES_TD

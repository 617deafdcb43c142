//===- Passes.td - passes within the graph dialect ------------------------===//
//
// Each pass FooBar is --graph-foo-bar, in FooBar.cpp, tested by foo_bar.mlir.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_GRAPH_PASSES_TD
#define MINIGPTC_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphInferIndexBounds : Pass<"graph-infer-index-bounds", "::mlir::ModuleOp"> {
  let summary = "which inputs of entry functions are ids, and below what they must lie";
  let description = [{
    An id outside its table is an error, but compiled code has no way to report one: it
    clamps. So the runtime checks inputs before an entry runs. What ops demand of their
    indices (`IndexingOp`) goes back through calls and through ops that move elements as
    they are (`ElementMoveOp`) to the arguments of entry functions: as `graph.index_bound`
    where it holds of the whole argument, else as `graph.index_checks`. An argument that
    has one of them keeps it. Ids that are computed are the program's affair.

    ```mlir
    func.func @f(%table: tensor<10x4xf32>, %ids: tensor<2x3xi32>) … attributes {graph.entry} {
      %0 = graph.slice %ids [0, 0] : [2, 2] : [1, 1] : (tensor<2x3xi32>) -> tensor<2x2xi32>
      %1 = graph.embedding %table, %0 : …
    ```
    becomes
    ```mlir
    func.func @f(%table: tensor<10x4xf32>, %ids: tensor<2x3xi32>
        {graph.index_checks = [#graph.index_check<10 in [0, 0] : [2, 2] : [1, 1]>]}) …
    ```
  }];
}

def GraphInline : Pass<"graph-inline", "::mlir::ModuleOp"> {
  let summary = "inlines small functions, and functions with one call site";
  let description = [{
    Every module of a model is a function after tracing, down to a single linear
    layer. Calls of functions with few ops, or with one call site, are replaced
    by the body, bottom-up. A big function with several call sites stays: a
    block called L times is differentiated, fused and compiled once, and so is a
    small function with `graph.shared` (the update of a parameter). Functions
    with `graph.entry`, `graph.host`, `graph.remat` or `exec.kernel` always stay, and so do those
    called as a piece of a pipeline (`graph.piece`); those that call such a piece never do.
    Inlined ops keep both places: the callee's and the call's (`callsite`).

    ```mlir
    func.func private @linear(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x8xf32> {…}
    %y = call @linear(%x, %w) : …
    ```
    becomes
    ```mlir
    %y = graph.dot_general %x, %w, …
    ```
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", /*default=*/"6",
                        "functions with at most this many ops are inlined everywhere">];
}

def GraphSimplifyFunctions : Pass<"graph-simplify-functions", "::mlir::ModuleOp"> {
  let summary = "merges equal functions, drops dead ones and unused arguments and results";
  let description = [{
    Works across calls of private functions, with work per function and not per
    call path:
    - functions that are equal but for names and locations become one (the one
      that comes first after its callees, in the order of the module);
    - results that no call site reads, that are an argument or another result,
      and arguments that the body does not read or that are equal to another
      argument at every call site, are removed;
    - ops without a use, and private functions without one, are erased.

    Functions named by anything but a call (`graph.vjp`) keep their signature.
    Wanted after tracing (a module called L times), and after autodiff (gradients
    and saved values that nobody reads).

    ```mlir
    func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
      %0 = graph.sine %a : tensor<f32>
      %1 = graph.cosine %b : tensor<f32>
      return %0, %1 : tensor<f32>, tensor<f32>
    }
    %x, %unused = call @f(%p, %q) : …
    ```
    becomes
    ```mlir
    func.func private @f(%a: tensor<f32>) -> tensor<f32> {
      %0 = graph.sine %a : tensor<f32>
      return %0 : tensor<f32>
    }
    %x = call @f(%p) : …
    ```
  }];
}

def GraphHoistInvariants : Pass<"graph-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "what every call of a loop's body would compute alike is computed before the loop";
  let description = [{
    The body of a scan is a function; ops of it that read its constants only give the same in each
    call, and, where the derivative needs that, the same would be saved for each. They go to
    before the loop, whose body gets what they give as a further constant. The derivative
    adds up that one's cotangents, and goes back through these ops once.

    So do pure calls and loops; no op with an effect. What takes more memory than what it is
    made of (a broadcast), or is made of no argument (a mask), stays, as does what only moves
    elements: kernels compute it on the way.

    ```mlir
    func.func private @body(%w: tensor<8x8xf32>, %s: tensor<8xf32> {graph.donate = 0}) … {
      %0 = graph.tanh %w : tensor<8x8xf32>
      …
    }
    %1 = graph.scan @body(%w) carried(%s) cut() count = 9 : …
    ```
    becomes
    ```mlir
    func.func private @body(%w: tensor<8x8xf32>, %0: tensor<8x8xf32>, %s: tensor<8xf32> {graph.donate = 0}) …
    %0 = graph.tanh %w : tensor<8x8xf32>
    %1 = graph.scan @body(%w, %0) carried(%s) cut() count = 9 : …
    ```
  }];
}

def GraphSinkConverts : Pass<"graph-sink-converts", "::mlir::ModuleOp"> {
  let summary = "functions widen their arguments themselves";
  let description = [{
    A matrix's gradient is bf16; the function that updates the parameter takes f32. The
    caller would store a widened copy, twice as large, for the call to read. Where all calls
    of a private function widen what they pass for an argument (from one type), the function
    takes it as it is and widens it, which costs its kernels nothing.

    ```mlir
    func.func private @update(%p: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> { … }
    %w = graph.convert %g : (tensor<8xbf16>) -> tensor<8xf32>
    %x = call @update(%p, %w) : …
    ```
    becomes
    ```mlir
    func.func private @update(%p: tensor<8xf32>, %g: tensor<8xbf16>) -> tensor<8xf32> {
      %w = graph.convert %g : (tensor<8xbf16>) -> tensor<8xf32>
      …
    }
    %x = call @update(%p, %g) : …
    ```
  }];
}

def GraphSinkSums : Pass<"graph-sink-sums", "::mlir::ModuleOp"> {
  let summary = "what callers add to a function's results, the function adds";
  let description = [{
    Gradients of a layer are results of a call, and the caller adds them to those of the
    micro-batches before. So they are in memory twice for a moment, all those of a pipeline's
    stage if one call makes them, and are written only to be read again. Where the calls of a
    private function are given what their result is added to (perhaps as a wider type), the
    function adds: the argument is donated (`graph.donate`), so that a product can go on in its
    memory (`--graph-accumulate-dots`), or a scatter (`--graph-accumulate-scatters`). A sum
    begins with zeros. Likewise a loop that begins a sum with zeros begins it with
    what the sum is added to.

    What is added to must be memory that nobody else needs: a donated argument, or what a call or a loop
    gave. Additions that come behind a collective, and of scalars, stay.

    ```mlir
    func.func private @layer.bwd(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> tensor<8x8xf32> {
      %w = graph.dot_general %x, %d, …
      return %w
    }
    %g = call @layer.bwd(%x, %d) : …
    %sum = graph.add %before, %g : tensor<8x8xf32>
    ```
    becomes
    ```mlir
    func.func private @layer.bwd(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>,
                                 %before: tensor<8x8xf32> {graph.donate = 0}) -> tensor<8x8xf32> {
      %w = graph.dot_general %x, %d, …
      %sum = graph.add %before, %w : tensor<8x8xf32>
      return %sum
    }
    %sum = call @layer.bwd(%x, %d, %before) : …
    ```
  }];
}

def GraphChunkLosses : Pass<"graph-chunk-losses", "::mlir::ModuleOp"> {
  let summary = "a head and its loss, some rows at a time";
  let description = [{
    The logits of a batch are [rows, vocabulary]: 15.6 GiB for 128 × 1024 tokens and
    32000 classes, as much again for their gradient, of which nothing is wanted in the
    end but a scalar, d loss/d hidden and d loss/d weight. `graph.linear_cross_entropy`
    becomes a scan over chunks of rows, which makes all three in one walk: logits, loss
    per row, the logits' gradient, its product with the weight, and its product with the
    rows, added to the weight's gradient in place. Gradients without readers are not
    made. A constant by which all readers multiply the gradients (1 / tokens) is folded
    into that of the logits.

    A chunk's logits are some 8 MiB, but a chunk has at least 256 rows, for which
    matrix products are as fast as for more (`graph.fewest_loss_rows` on the module says
    another number); its size is a function of shapes only. Rows
    that are left over follow the scan; few rows need none.

    ```mlir
    %loss, %dh, %dw = graph.linear_cross_entropy %h, %w, %t
        : (tensor<4096x256xf32>, tensor<256x4096xf32>, tensor<4096xi32>) -> (tensor<f32>, …)
    // becomes
    %dw, %losses, %dh = graph.scan @linear_cross_entropy_rows(%w) carried(%zeros) cut(%h, %t) count = 8 : …
    %loss = graph.reduce sum, %losses, dims = [0] : (tensor<4096xf32>) -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::minigptc::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def GraphAlignLoops : Pass<"graph-align-loops", "::mlir::ModuleOp"> {
  let summary = "loops over parts that are no multiple of 64 bytes";
  let description = [{
    A repeated call moves its operands on from part to part, and buffers are aligned to 64
    bytes. Where a scan's parts are not, its body gets the whole tensor and takes its part out of
    it, in the kernels that read it; and what it makes it writes into the whole result, which is
    carried, in place. The number of the call comes as a part of an iota.

    ```mlir
    %s, %y = graph.scan @body() carried(%zero) cut(%x) count = 9
        : (tensor<f32>, tensor<9x3xf32>) -> (tensor<f32>, tensor<9x3xf32>)
    // becomes
    %k = graph.iota dim = 0 : tensor<9x8xi64>
    %s, %y = graph.scan @body_0(%x) carried(%zero, %zeros) cut(%k) count = 9
        : (tensor<9x3xf32>, tensor<f32>, tensor<9x3xf32>, tensor<9x8xi64>) -> (tensor<f32>, tensor<9x3xf32>)
    ```
  }];
  let dependentDialects = ["::minigptc::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

def GraphDecompose : Pass<"graph-decompose"> {
  let summary = "composite ops become primitives";
  let description = [{
    Composite ops (`softmax`, `attention`, …) are there because their fused form
    matters. Each is replaced by its decomposition (`DecomposableOp`), again and
    again until primitives remain; but for those that the target has a kernel for
    (`WholeKernelOp`), if they are to be kept.

    ```mlir
    %1 = graph.relu %0 : tensor<4xf32>
    ```
    becomes
    ```mlir
    %zero = graph.constant dense<0.0> : tensor<4xf32>
    %1 = graph.maximum %0, %zero : tensor<4xf32>
    ```
  }];
  let options = [Option<"keepWholeKernels", "keep-whole-kernels", "bool", /*default=*/"false",
                        "ops with a kernel of their own stay">];
  let dependentDialects = ["::minigptc::graph::GraphDialect"];
}

def GraphCanonicalizeDots : Pass<"graph-canonicalize-dots", "::mlir::func::FuncOp"> {
  let summary = "matrix products in a form that a GEMM takes";
  let description = [{
    A GEMM wants each of M, N and K to be one run of memory. A transpose in front
    of a product, or behind it, needs no kernel: the product names other dimensions,
    or its operands in the other order. Contracted dimensions that are no single run
    are reordered, or packed by a transpose. So is an operand that has a stride in both
    dimensions of its matrix, or whose batching dimensions would make many calls of a
    library that takes one (GemmPacking in GemmForm.h). A product of no depth is zeros.

    ```mlir
    %t = graph.transpose %w, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %y = graph.dot_general %x, %t, batching_dims = [] x [], contracting_dims = [1] x [0] …
    // becomes
    %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] …
    ```
    Products of other types than f32 and f64 are left alone; they become kernels.
  }];
}

def GraphAccumulateScatters : Pass<"graph-accumulate-scatters", "::mlir::func::FuncOp"> {
  let summary = "scatters add to what their result would be added to";
  let description = [{
    The gradient of a table of embeddings is a scatter into zeros. Where the table
    is the head's matrix too, another gradient as large is added to that: three
    walks over the whole table for a few rows. The rows are added to the other
    gradient instead, in its place if nothing else reads it.

    ```mlir
    %rows = graph.scatter add, %zeros[%ids], %d dims = [0] : …
    %sum = graph.add %other, %rows : tensor<50257x768xf32>
    // becomes
    %sum = graph.scatter add, %other[%ids], %d dims = [0] : …
    ```
  }];
}

def GraphSplitReductions : Pass<"graph-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "long reductions with few results in two steps";
  let description = [{
    One work item computes one result element, so a gradient norm or a bias
    gradient would be the work of one or few threads. Such a reduction becomes
    partial ones over chunks, whose number depends on shapes only, and one
    over the partial results. A dimension is cut by a divisor, or, where it has
    no good one, into a divisible part and a remainder. Where all dimensions but
    the last are reduced, chunks of rows are added up: the kernel that makes the
    rows can do that on the way.

    ```mlir
    %s = graph.reduce sum, %x, dims = [0] : (tensor<8192xf32>) -> tensor<f32>
    // becomes
    %c = graph.reshape %x : (tensor<8192xf32>) -> tensor<64x128xf32>
    %p = graph.reduce sum, %c, dims = [1] : (tensor<64x128xf32>) -> tensor<64xf32>
    %s = graph.reduce sum, %p, dims = [0] : (tensor<64xf32>) -> tensor<f32>
    ```
  }];
}

def GraphAccumulateDots : Pass<"graph-accumulate-dots", "::mlir::func::FuncOp"> {
  let summary = "sums of matrix products in place";
  let description = [{
    A product whose only reader adds it to something is written to memory, and read
    again together with the other summand, only to write the sum. A GEMM adds to what
    is there (beta = 1). That saves memory and its traffic where the other summand is
    in memory anyway and dies with the sum: another product, what a call gave, a value
    with earlier readers, a donated argument. Else the sum is cheaper in a kernel, with
    whatever it is fused with.

    ```mlir
    %a = graph.dot_general %q, %wq, …
    %b = graph.dot_general %k, %wk, …
    %sum = graph.add %a, %b : tensor<8x4xf32>
    // becomes
    %a = graph.dot_general %q, %wq, …
    %sum = graph.dot_accumulate %a, %k, %wk, …
    ```
  }];
}

def GraphStackSums : Pass<"graph-stack-sums", "::mlir::func::FuncOp"> {
  let summary = "long chains of scalar additions to sums of stacked scalars";
  let description = [{
    The norm of all gradients adds up as many scalars as there are parameters, one
    after the other: each addition waits for the one before, and would become a part of
    the kernel that reduces a gradient, so that all of these wait for one another.
    Four and more reductions that a chain adds up are put beside each other,
    16 at a time, the first of them the sum so far, and reduced: the reductions before do not
    depend on one another any more, and a longer chain has more stacks, not more kernels. The
    order of additions changes, as in `--graph-split-reductions`.

    ```mlir
    %1 = graph.add %a, %b : tensor<f32>
    %2 = graph.add %1, %c : tensor<f32>
    %3 = graph.add %2, %d : tensor<f32>
    // becomes
    %s = graph.concatenate %a1, %b1, %c1, %d1 dim = 0 : … -> tensor<4xf32>
    %3 = graph.reduce sum, %s, dims = [0] : (tensor<4xf32>) -> tensor<f32>
    ```
  }];
}

def GraphFuse : Pass<"graph-fuse", "::mlir::func::FuncOp"> {
  let summary = "groups ops into fusions, one kernel each";
  let description = [{
    Each op alone would read and write memory that its neighbour reads again. A
    value is computed inside its consumers' kernels where that costs less than
    storing it: cheap ops always, expensive ones (exp, random bits) once. Kernels
    that share inputs, or feed each other at the same index, are one kernel with
    several results, and so are kernels that walk the same rows: reductions of
    rows, elementwise ops on rows and on what the reductions gave, sums down the
    columns over chunks of rows. A norm, a softmax, and the gradient of either is
    one kernel (see FusionPlan.h, RowSpace.h).

    After this pass a function holds fusions, matrix products, calls, host calls,
    reshapes (views of memory) and constants.

    ```mlir
    %0 = graph.exponential %x : tensor<8xf32>
    %1 = graph.add %0, %y : tensor<8xf32>
    // becomes
    %1 = graph.fusion(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %0 = graph.exponential %a : tensor<8xf32>
      %1 = graph.add %0, %b : tensor<8xf32>
      graph.yield %1 : tensor<8xf32>
    }
    ```
  }];
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "remark on each value that goes from one kernel to another in memory, and why">];
}

def GraphFuseEpilogues : Pass<"graph-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "products add biases and make their gradients, where the target's can";
  let description = [{
    In a module with `graph.product_epilogues`, which the target brings; of one matrix, row by
    row, f32 or bf16.

    `bias`: a fusion that does nothing but add a bias to a product is the product's last act.
    So a walk over activations is saved, and in bf16 a rounding: the sum is rounded once, after
    the bias. Only where nobody else reads the product, and the bias has an element for each
    column. (A ReLU stays in its kernel: libraries lose a NaN in theirs.)

    `sums`: fusions that do nothing but add up the rows of a product's right operand, which it
    contracts, are the product's second result. So the gradient of a bias takes no further walk
    over that of the activations. (Sums that a kernel makes on its way stay there.)

    ```mlir
    %p = graph.dot_general %x, %w, … : tensor<32x64x8xf32>
    %y = graph.fusion(%b, %p) … {  // broadcast, add
    // becomes
    %y = graph.dot_bias %x, %w, %b, … : tensor<32x64x8xf32>

    %dw = graph.dot_general %x, %dy, …, contracting_dims = [0, 1] x [0, 1] : tensor<16x8xf32>
    %db = graph.fusion(%dy) … {  // reduce sum
    // becomes
    %dw, %db = graph.dot_sums %x, %dy, … : tensor<16x8xf32>, tensor<8xf32>
    ```
  }];
}

def GraphOutlineKernels : Pass<"graph-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "fusions to functions, equal ones to the same";
  let description = [{
    Code is generated once per distinct kernel. Fusions with the same ops,
    attributes and types (not locations) become calls of one private function
    marked `exec.kernel`, named after its ops and a hash of its structure, so that
    names do not depend on the order of functions.

    ```mlir
    %1 = call @exponential_add_1a2b3c4d(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
}

def GraphSchedule : Pass<"graph-schedule", "::mlir::func::FuncOp"> {
  let summary = "an order that keeps few bytes alive";
  let description = [{
    The order of instructions decides how much memory the plan needs. Among the
    ops that are ready, the one that frees most and allocates least comes first,
    the earlier one of equals. The new order is kept only where its peak is
    lower than that of the old one.

    Then a call whose results are small (16 KiB) moves up to the call of the same function
    before it, if its operands are there: one launch may make both.

    A function that sends or receives messages keeps its order.

    ```mlir
    %a = graph.exponential %x : tensor<1024xf32>
    %b = graph.sine %x : tensor<1024xf32>
    %c = graph.reduce sum, %a, dims = [0] : (tensor<1024xf32>) -> tensor<f32>
    %d = graph.reduce sum, %b, dims = [0] : (tensor<1024xf32>) -> tensor<f32>
    // becomes: %a is dead before %b is made
    %a = graph.exponential %x : tensor<1024xf32>
    %c = graph.reduce sum, %a, dims = [0] : (tensor<1024xf32>) -> tensor<f32>
    %b = graph.sine %x : tensor<1024xf32>
    %d = graph.reduce sum, %b, dims = [0] : (tensor<1024xf32>) -> tensor<f32>
    ```
  }];
}

def GraphAutodiff : Pass<"graph-autodiff", "::mlir::ModuleOp"> {
  let summary = "replaces graph.vjp by calls of forward and backward functions";
  let description = [{
    `graph.vjp @f` becomes a call of `@f.fwd`, which gives the results of `@f`
    and the values that the backward pass needs, and a call of `@f.bwd`, which
    takes those, arguments of `@f`, and cotangents, and gives gradients. Calls
    within `@f` are treated alike, once for each function, set of wanted
    arguments and set of live cotangents: a block called L times gets one
    forward and one backward function.

    Only values between a wanted argument and a live cotangent are
    differentiated. Values that are cheap to compute from what is there anyway
    (`FusibleOp` elementwise, broadcast and data movement; dropout masks) are
    recomputed in the backward function; arguments are passed by the caller.
    `graph.remat` on a function decides otherwise: `nothing` recomputes all,
    `dots` saves matrix products and attention, `everything` saves all that is
    read. Composite ops without a vjp are decomposed first, which is how a
    gradient is differentiated again. An op without a derivative on the way is
    an error at the op, with a note at the `graph.vjp`.

    ```mlir
    func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32> {
      %0 = graph.tanh %w : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    %y, %dw = graph.vjp @f(%w) cotangents(%ct) wrt [0] : …
    ```
    becomes
    ```mlir
    func.func private @f.bwd(%w: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
      … // tanh is cheap: recomputed
    }
    %y = call @f.fwd(%w) : (tensor<4xf32>) -> tensor<4xf32>
    %dw = call @f.bwd(%w, %ct) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```

    The passes around it, from stage `trace` to `autodiff`: graph-inline,
    graph-simplify-functions, graph-autodiff, graph-inline,
    graph-simplify-functions; from `autodiff` to `step`: canonicalize, cse,
    graph-simplify-functions.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def GraphMarkPrints : Pass<"graph-mark-prints", "::mlir::ModuleOp"> {
  let summary = "Say of ops that call functions whether these print";
  let description = [{
    A `graph.print` may stand deep inside of what an op calls. Passes that run on one function and
    see no other must not drop such a call, loop or branch, nor merge it with its like, and must
    keep its place among prints: they look for `graph.prints`, which this pass sets. Passes on the
    whole module look into the functions themselves.

    ```mlir
    func.func private @f(%x: tensor<f32>) {
      graph.print ["x = ", ""] (%x : tensor<f32>)
      return
    }
    call @f(%x) : (tensor<f32>) -> ()
    ```
    becomes
    ```mlir
    call @f(%x) {graph.prints} : (tensor<f32>) -> ()
    ```
  }];
}

#endif // MINIGPTC_GRAPH_PASSES_TD

//===- Passes.td - passes from one device to many -------------------------===//
//
// Each pass FooBar is --dist-foo-bar, in FooBar.cpp, tested by foo_bar.mlir. Without a
// mesh none changes anything.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIST_PASSES_TD
#define MINIGPTC_DIST_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistAssignStages : Pass<"dist-assign-stages", "::mlir::ModuleOp"> {
  let summary = "a step's layers on the stages of a pipeline, in the order of a schedule";
  let description = [{
    Calls say to which piece of the model they belong (`graph.piece`; what computes their
    gradients has `graph.backward`, too): with G stages, piece p is on stage p mod G. The loop over
    micro-batches in which they stand becomes a call per piece, direction and micro-batch, in
    the order of the module's schedule (`dist.pipeline`: `schedule` gpipe, 1f1b or
    interleaved, `chunks`). Then every op of the entries gets a stage by what it reads, and what is read on
    another is sent there: activations and gradients between pieces, a weight that is tied (once a step, and
    its gradient back), scalars such as a norm from partial sums on.

    Without an axis `stage` the marks are erased.

    ```mlir
    func.func private @body(%w0: …, %w1: …, %g0: …, %g1: …, %x: …) {
      %a = call @layer.fwd(%x, %w0) {graph.piece = 0 : i64} : …
      %b = call @layer.fwd(%a, %w1) {graph.piece = 1 : i64} : …
      %db:2 = call @layer.bwd(%b, %a, %w1) {graph.piece = 1 : i64, graph.backward} : …
      %da:2 = call @layer.bwd(%db#0, %x, %w0) {graph.piece = 0 : i64, graph.backward} : …
      %0 = graph.add %g0, %da#1 : …
      %1 = graph.add %g1, %db#1 : …
      return %0, %1 : …
    }
    func.func @step(%w0: …, %w1: …, %x: …) attributes {graph.entry} {
      %g:2 = graph.scan @body(%w0, %w1) carried(%zero, %zero) cut(%x) count = 2 : …
    ```
    becomes, with gpipe
    ```mlir
    %a0 = call @body.forward0(%x0, %w0) {dist.stage = 0 : i64} : …
    %m0 = dist.transfer %a0 from 0 to 1 : …
    %a1 = call @body.forward0(%x1, %w0) {dist.stage = 0 : i64} : …
    %m1 = dist.transfer %a1 from 0 to 1 : …
    %b0 = call @body.forward1(%m0, %w1) {dist.stage = 1 : i64} : …
    %b1 = call @body.forward1(%m1, %w1) {dist.stage = 1 : i64} : …
    %d0:2 = call @body.backward1(%b0, %m0, %w1) {dist.stage = 1 : i64} : …
    %n0 = dist.transfer %d0#0 from 1 to 0 : …
    …
    ```
  }];
}

def DistSeparateLocal : Pass<"dist-separate-local", "::mlir::ModuleOp"> {
  let summary = "functions of a device's parts stand apart";
  let description = [{
    A function that a `dist.manual` calls has the types of one device's parts before the
    partitioner runs, and passes that shard the others must leave it alone, with all that it
    calls. Such functions get `dist.local`; one that is called on whole tensors, too
    (equal functions are one, whatever their tensors are parts of), gets a copy.

    ```mlir
    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {…}
    func.func @step(%x: tensor<4xf32>, %y: tensor<8xf32>) {
      %0 = call @f(%x) : …
      %1 = dist.manual @f(%y) over @mesh in = [#dist.sharding<@mesh, [{"data"} ]>] out = […] : …
    ```
    becomes
    ```mlir
    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {…}
    func.func private @f_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {…}
    func.func @step(%x: tensor<4xf32>, %y: tensor<8xf32>) {
      %0 = call @f(%x) : …
      %1 = dist.manual @f_0(%y) over @mesh in = […] out = […] : …
    ```
  }];
}

def DistDecompose : Pass<"dist-decompose", "::mlir::ModuleOp"> {
  let summary = "composite ops that cannot be cut become ops that can";
  let description = [{
    A composite without a sharding rule (dropout, draws from a distribution) would be
    computed whole on every device. Its primitive ops can be cut: `random_bits` draws the
    numbers of a device's part of the whole tensor.

    ```mlir
    %y = graph.dropout %x, %key rate = 0.1 : tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %bits = graph.random_bits %key : tensor<8x4xui32>
    …
    %y = graph.multiply %x, %mask : tensor<8x4xf32>
    ```
  }];
}

def DistSplitConstants : Pass<"dist-split-constants", "::mlir::ModuleOp"> {
  let summary = "a constant of its own for every use";
  let description = [{
    Equal constants of one shape are one op, whose uses have nothing to do with each other:
    one wants it cut along rows, another along columns. Each use gets a copy, which costs
    nothing to cut; equal local ones are merged again after `spmd`.

    ```mlir
    %one = graph.constant dense<1.0> : tensor<8x8xf32>
    %a = graph.add %x, %one : tensor<8x8xf32>
    %b = graph.add %w, %one : tensor<8x8xf32>
    ```
    becomes
    ```mlir
    %one = graph.constant dense<1.0> : tensor<8x8xf32>
    %one_0 = graph.constant dense<1.0> : tensor<8x8xf32>
    %a = graph.add %x, %one : tensor<8x8xf32>
    %b = graph.add %w, %one_0 : tensor<8x8xf32>
    ```
  }];
}

def DistSpecialize : Pass<"dist-specialize", "::mlir::ModuleOp"> {
  let summary = "a copy of a function per way in which its parameters are stored";
  let description = [{
    A function has one sharding signature, but the update of two parameters of one shape
    that are stored differently is one function. Calls are grouped by how the parameters that
    they pass are stored (and results that they hand on as results of an entry); each
    group gets a copy, whose arguments say so: `dist.sharding`, and `dist.stored` with
    the parameters' common name. Equal layers agree, and stay one function. Arguments and
    results of entries that have no annotation get one: a donated result its argument's,
    others are whole on every device.

    ```mlir
    func.func private @update(%p: tensor<8x8xf32>) -> tensor<8x8xf32> {…}
    func.func @step(%q: tensor<8x8xf32> {graph.donate = 0, dist.sharding = [{"data"}, {} ]},
                    %o: tensor<8x8xf32> {graph.donate = 1, dist.sharding = [{}, {"data"} ]}) {
      %0 = call @update(%q) : …
      %1 = call @update(%o) : …
    ```
    becomes
    ```mlir
    func.func private @update(%p: tensor<8x8xf32> {dist.sharding = [{"data"}, {} ], dist.stored = "q"}) …
    func.func private @update_0(%p: tensor<8x8xf32> {dist.sharding = [{}, {"data"} ], dist.stored = "o"}) …
    func.func @step(…) {
      %0 = call @update(%q) : …
      %1 = call @update_0(%o) : …
    ```
  }];
}

def DistPropagate : Pass<"dist-propagate", "::mlir::ModuleOp"> {
  let summary = "decides which axes cut the factors of every op";
  let description = [{
    The user says how inputs, parameters and a few values are sharded; every op, argument
    and result needs to know. docs/design/sharding.md says how it is decided. What differs
    between a value and its use is left to `--dist-insert-reshards`.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}, …) {
      %y = graph.dot_general %x, %w, … : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    ```
    becomes
    ```mlir
      %y = graph.dot_general %x, %w, … {dist.factors = [[], ["data"], []],
        dist.origins = [#dist.origin<why = "an input is cut", annotation = "'x' P('data', None)", …>],
        dist.shardings = [#dist.sharding<@mesh, [{"data"}, {} ]>]} : …
    ```
  }];
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "a remark per op, argument, result and pinned value: how it is cut, and why">];
}

def DistInsertReshards : Pass<"dist-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "puts a reshard wherever a value and its use differ";
  let description = [{
    After `--dist-propagate` values and ops have their shardings; where an op, a call or a
    return needs a value otherwise, it gets it from a `dist.reshard`, which says why. One
    for a value and a sharding in a function, before the first use; but what is gathered of a
    stored tensor has one for each use, for it is not kept in between. Constraints become reshards,
    or nothing where the value is as it was pinned.

    ```mlir
    %y = graph.negate %w {dist.factors = [[], []], …} : tensor<8x8xf32>    // %w is [{"data"}, {} ]
    ```
    becomes
    ```mlir
    %0 = dist.reshard %w to <@mesh, [{}, {} ]> {dist.origins = […]} : tensor<8x8xf32>
    %y = graph.negate %0 {…} : tensor<8x8xf32>
    ```
  }];
}

def DistHoistReshards : Pass<"dist-hoist-reshards", "::mlir::ModuleOp"> {
  let summary = "what all micro-batches need of a parameter is sent once a step";
  let description = [{
    A loop over micro-batches, or the tasks of a pipeline's stage, get the parameters anew in each call,
    though these are the same in all. Where a function that runs again and again reshards a
    stored parameter (or a conversion of it) that all its calls are given, the caller does it, once, and
    passes the result.

    Not over an axis that cuts examples, an argument of an entry that is no state: who stores a
    parameter in parts beside a batch in parts wants it whole for no longer than it is used. And
    what is kept so has no more bytes than the function's stored parameters.

    ```mlir
    func.func private @body(%w: … {dist.stored = "w", dist.sharding = [{}, {"model"} ]}, …) {
      %0 = dist.reshard %w to <@mesh, [{}, {} ]> : tensor<8x8xf32>
    …
    %1 = graph.scan @body(%w) …
    ```
    becomes
    ```mlir
    func.func private @body(%w: …, %0: … {dist.sharding = [{}, {} ]}, …) {
    …
    %0 = dist.reshard %w to <@mesh, [{}, {} ]> : tensor<8x8xf32>
    %1 = graph.scan @body(%w, %0) …
    ```
  }];
}

def DistWidenSums : Pass<"dist-widen-sums", "::mlir::ModuleOp"> {
  let summary = "parts of sums of bf16 and f16 stay in f32 until they are combined";
  let description = [{
    One device rounds a sum of bf16 once, when it is whole. So do many: a value that is
    part of a sum is of the accumulator type, from the op that makes it, through ops and
    results of functions that carry it on, to the reshard that combines it, and is
    rounded behind that. Products and heads give f32 as they are; other ops
    compute in f32.

    ```mlir
    %0 = graph.dot_general %x, %y, … {dist.shardings = [partial sum over "data"]}
        : (tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
    %1 = dist.reshard %0 to <@mesh, [{}, {} ]> : tensor<6x4xbf16>
    ```
    becomes
    ```mlir
    %0 = graph.dot_general %x, %y, … {dist.shardings = [partial sum over "data"]}
        : (tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xf32>
    %1 = dist.reshard %0 to <@mesh, [{}, {} ]> : tensor<6x4xf32>
    %2 = graph.convert %1 {…} : tensor<6x4xf32> to tensor<6x4xbf16>
    ```
  }];
}

def DistCheck : Pass<"dist-check", "::mlir::ModuleOp"> {
  let summary = "refuses shardings that would compute something else";
  let description = [{
    A reduction that is left out or made twice gives wrong gradients and no error. Before
    the partitioner believes what a module of stage `shard` says, every value must have a
    sharding, every op must get its operands as its factors say, and a partial value may
    only go where its sum may be delayed. Nothing is changed.

    ```mlir
    %y = graph.exponential %x {dist.shardings = [partial sum over "data"]} : tensor<4xf32>
    ```
    becomes
    ```mlir
    error: 'graph.exponential' op is not linear, but gives part of a sum over 'data'
    ```
  }];
}

def DistPartition : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "the program of one device";
  let description = [{
    Gives every tensor the shape of one device's part, as its sharding says, and every
    `dist.reshard` the cheapest path of collectives. An op whose factors are cut is the
    op itself on parts; where that is not enough (`graph::PartitionableOp`) devices take
    account of their offset (`iota`, `random_bits`), look up their part of a table, or
    combine statistics. An op of which no part lies on one device (a reshape of uneven
    parts) is computed whole, and cut.

    A `dist.manual` is its function, in its place if nothing else calls that.

    Padding of uneven parts may hold anything, NaN too: where it is summed it is replaced
    before.

    Equal steps on one value are one. Arguments and results of functions keep
    `dist.sharding`, those of entries the whole type as `dist.global_type`.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}) -> … {
      %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"], []], …} : (tensor<8x4xf32>) -> tensor<4xf32>
      %1 = dist.reshard %0 to <@mesh, [{} ]> : tensor<4xf32>
    ```
    becomes, on 4 devices,
    ```mlir
    func.func @f(%x: tensor<2x4xf32>) -> … {
      %0 = graph.reduce sum, %x, dims = [0] : (tensor<2x4xf32>) -> tensor<4xf32>
      %1 = dist.all_reduce %0 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::minigptc::dist::DistDialect", "::minigptc::graph::GraphDialect"];
}

def DistBucket : Pass<"dist-bucket", "::mlir::ModuleOp"> {
  let summary = "collectives of one kind that do not wait for each other become one";
  let description = [{
    In each block, collectives of one kind over the same axes become one with many
    operands, if as many collectives (or calls of functions with some) come before them
    on the longest way, or as many follow, or neither waits for the other. What a bucket needs
    is moved before it; else ops keep their order.

    Collectives of which one side is larger than the other hold whole tensors between bucket
    and work: gathers are not joined over a call that communicates, and in a function that is no
    layer (none calls it twice) such a bucket has at most twice the bytes of its largest whole
    tensor. A bucket takes equal collectives of one operand once. Equal gathers that are left
    are numbered (`dist.again`), so that no later pass keeps the first one's result instead.

    With `dist.overlap`, all-reduces and reduce-scatters are not joined over calls of layers, so that
    a layer's gradients are reduced while the next layer's are computed; but layers whose
    gradients have less than an eighth of the bytes of the largest tensor go with the next.

    Ops without a use are erased, and an all-reduce whose only use cuts its result is a
    reduce-scatter.

    ```mlir
    %a = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
    %b = dist.all_reduce %y over @mesh ["data"] combine = sum : (tensor<2xf32>) -> tensor<2xf32>
    ```
    becomes
    ```mlir
    %a, %b = dist.all_reduce %x, %y over @mesh ["data"] combine = sum
        : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
    ```
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"0",
                        "bytes of a bucket's operands, unless one alone has more; 0: what the module's "
                        "`dist.bucket_bytes` says, else no limit">];
  let dependentDialects = ["::minigptc::dist::DistDialect"];
}

def DistPeelCollectives : Pass<"dist-peel-collectives", "::mlir::ModuleOp"> {
  let summary = "moves collectives at the ends of functions to their callers";
  let description = [{
    A layer is a function that many calls share. If it begins by gathering its weights and ends by
    scattering its gradients, devices wait there, for nothing in it can go on beside. In the
    caller, one layer's gather can go on beside the layer before, and its scatter beside the layer
    behind (`--dist-overlap`). So a collective whose operands are all arguments stands before each
    call, and one whose results are all returned behind. Functions stay shared. Does
    nothing in a module without `dist.overlap`.

    ```mlir
    func.func private @layer(%x: tensor<8xf32>, %w: tensor<2x8xf32>) -> tensor<8xf32> {
      %all = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
      …
    }
    %y = call @layer(%x, %w)
    ```
    becomes
    ```mlir
    func.func private @layer(%x: tensor<8xf32>, %all: tensor<8x8xf32>) -> tensor<8xf32> {
      …
    }
    %all = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %y = call @layer(%x, %all)
    ```
  }];
  let dependentDialects = ["::minigptc::dist::DistDialect"];
}

def DistOverlap : Pass<"dist-overlap", "::mlir::func::FuncOp"> {
  let summary = "starts collectives early and waits for them late";
  let description = [{
    Done where it stands, a collective keeps a device from computing. Here it starts
    (`dist.started`) as soon as its operands are there, and a `dist.wait` stands before the first
    op that reads its results; ops that do not need it go in between, those first that the next
    collective needs, as far as the bytes alive stay within the peak of the order before. What is on
    its way comes on top:

    - of gathers, one at a time is ahead: it starts when the one before is waited for, so that two
      layers' weights are whole;
    - of reduce-scatters, one at a time is on its way: it ends before the next one starts, so that
      two layers' gradients are whole.

    Where nothing can be in between, a collective stays as it was. The order is the same on all
    devices, and follows from the program alone. Does nothing in a module without `dist.overlap`.

    ```mlir
    %g = dist.all_gather %w1 …
    %1 = call @layer(%0, %g)
    %h = dist.all_gather %w2 …
    %2 = call @layer(%1, %h)
    ```
    becomes
    ```mlir
    %g = dist.all_gather %w1 …
    %h = dist.all_gather %w2 … {dist.started}
    %1 = call @layer(%0, %g)
    %i = dist.wait %h
    %2 = call @layer(%1, %i)
    ```
  }];
  let dependentDialects = ["::minigptc::dist::DistDialect"];
}

def DistProjectStages : Pass<"dist-project-stages", "::mlir::ModuleOp"> {
  let summary = "a function for each stage of a pipeline, of an entry that speaks of stages";
  let description = [{
    In an entry with `dist.transfer`s, an op happens on the stage that it says (`dist.stage`) or that
    its operands are on; one without either (a constant, a key, a count) happens on every stage that
    reads it. An argument is on the stages that read it, and on those of the result that takes over
    its memory; a result is where it is made. Both may say it themselves (`dist.stages`); an
    argument that is said to be on one stage can be sent to others.

    Each stage gets a function, with the entry's arguments and results, of the ops that are on it, in the
    entry's order, which is the pipeline's schedule. A transfer is a `dist.send` in one, where it
    stood, and a `dist.recv` in the other, as late as may be: right before what reads it; behind what
    the same stage has sent before; and no later than so that stages never wait for each other in a
    ring, with room for one message from each stage to each other.

    ```mlir
    func.func @step(%w0: tensor<4xf32>, %w1: tensor<4xf32>) -> tensor<4xf32> {
      %0 = graph.negate %w0 {dist.stage = 0 : i64} : tensor<4xf32>
      %1 = dist.transfer %0 from 0 to 1 : tensor<4xf32>
      %2 = graph.add %1, %w1 : tensor<4xf32>
      return %2
    ```
    becomes
    ```mlir
    func.func @step.0(%w0: … {dist.stages = [0]}, %w1: … {dist.stages = [1]}) -> (… {dist.stages = [1]})
        attributes {dist.stage = 0 : i64, dist.stage_of = "step"} {
      %0 = graph.negate %w0 : tensor<4xf32>
      dist.send %0 to 1 tag = 0 : tensor<4xf32>
      %1 = dist.absent : tensor<4xf32>
      return %1
    func.func @step.1(…) … {
      %0 = dist.recv from 0 tag = 0 : tensor<4xf32>
      %1 = graph.add %0, %w1 : tensor<4xf32>
      return %1
    ```
  }];
}

def DistStrip : Pass<"dist-strip", "::mlir::ModuleOp"> {
  let summary = "removes what tells equal local programs apart";
  let description = [{
    Removes shardings and factors of ops and of private functions, which no later stage
    reads. Collectives keep their origins, entry functions their shardings.

    ```mlir
    func.func private @f(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> …
    ```
    becomes
    ```mlir
    func.func private @f(%x: tensor<2xf32>) -> …
    ```
  }];
}

#endif // MINIGPTC_DIST_PASSES_TD

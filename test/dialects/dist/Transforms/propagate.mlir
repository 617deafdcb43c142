// RUN: minigptc-opt %s --dist-specialize --dist-propagate -split-input-file | FileCheck %s

// An input is cut along its rows: so is all that has these rows, through a call; what is
// summed over them is left partial by the private function, but not by the entry.
// CHECK-LABEL: func.func private @layer
// CHECK-SAME: %{{.*}}: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], partial = sum ["data"]>})
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}], ["data"], []]
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}"data"], [], []]
// CHECK: annotation = "'batch' P('data', None)"
// CHECK-LABEL: func.func @entry
// CHECK: -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
dist.mesh @mesh = <["data"=2]>
func.func private @layer(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<4x6xf32>) {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %g = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %y, %g : tensor<8x6xf32>, tensor<4x6xf32>
}
func.func @entry(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, graph.name = "batch"}, %w: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0:2 = call @layer(%x, %w) : (tensor<8x4xf32>, tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<4x6xf32>)
  return %0#1 : tensor<4x6xf32>
}

// -----

// A parameter cuts its product's columns, the next product sums over them, and what is added
// to the sum waits for it; two sums are added before they are made.
// CHECK-LABEL: func @parameters
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}], [], ["tensor"]]
// CHECK: graph.relu {{.*}}dist.factors = {{\[\[}}], ["tensor"]]
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}"tensor"], [], []]
// CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}, {}], partial = sum ["tensor"]>]
// CHECK: graph.dot_general {{.*}} partial = sum ["tensor"]
// CHECK: graph.add {{.*}} partial = sum ["tensor"]
// CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]
dist.mesh @mesh = <["tensor"=2]>
func.func @parameters(%x: tensor<8x4xf32>,
    %a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tensor"} ]>, dist.stored = "a"},
    %b: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {} ]>, dist.stored = "b"}) -> tensor<8x4xf32> {
  %0 = graph.dot_general %x, %a, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = graph.relu %0 : tensor<8x6xf32>
  %2 = graph.dot_general %1, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %3 = graph.dot_general %0, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %4 = graph.add %2, %3 : tensor<8x4xf32>
  %5 = graph.add %x, %4 : tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// -----

// A pinned value spreads where nobody decided: the sum of a product is scattered.
// CHECK-LABEL: func @pinned
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}"tensor"], [], []]
// CHECK: graph.add {{.*}}dist.factors = {{\[\[}}"tensor"], []]
// CHECK-SAME: annotation = "the constraint P('tensor', None)"
dist.mesh @mesh = <["tensor"=2]>
func.func @pinned(%x: tensor<8x4xf32>, %y: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tensor"} ]>},
    %b: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {} ]>, dist.stored = "b"}) -> tensor<8x4xf32> {
  %0 = dist.constraint %x <@mesh, [{"tensor"}, {} ]> : tensor<8x4xf32>
  %1 = graph.dot_general %y, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %2 = graph.add %0, %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// An axis that does not divide a dimension leaves it whole where it only spreads.
// CHECK-LABEL: func @uneven
// CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]
dist.mesh @mesh = <["data"=4]>
func.func @uneven(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> tensor<2x4xf32> {
  %0 = graph.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// What two products gather in the forward function is handed to the backward function as
// gathered, and not gathered there again.
// CHECK-LABEL: func.func private @forward
// CHECK-SAME: -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<8x6xf32>
// CHECK-LABEL: func.func private @backward
// CHECK-SAME: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}
dist.mesh @mesh = <["tensor"=2]>
func.func private @forward(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x4xf32>, tensor<8x6xf32>) {
  %0 = dist.constraint %x <@mesh, [{"tensor"}, {} ]> : tensor<8x4xf32>
  %1 = graph.relu %0 : tensor<8x4xf32>
  %2 = graph.dot_general %1, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x6xf32>
}
func.func private @backward(%s: tensor<8x4xf32>, %g: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = graph.dot_general %s, %g, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
func.func @step(%x: tensor<8x4xf32>, %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tensor"} ]>, dist.stored = "w"}) -> tensor<4x6xf32> {
  %0:2 = call @forward(%x, %w) : (tensor<8x4xf32>, tensor<4x6xf32>) -> (tensor<8x4xf32>, tensor<8x6xf32>)
  %1 = call @backward(%0#0, %0#1) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// The columns of merged dimensions are not one part of the whole: they are gathered first.
// CHECK-LABEL: func @behind
// CHECK: graph.negate {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"data"}]>]
// CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
dist.mesh @mesh = <["data"=2]>
func.func @behind(%x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"} ]>}) -> tensor<8xf32> {
  %0 = graph.negate %x : tensor<2x4xf32>
  %1 = graph.reshape %0 : (tensor<2x4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Several axes of a dimension stand in parentheses, as the runtime prints them.
// CHECK-LABEL: func @both_axes
// CHECK: graph.dot_general {{.*}}annotation = "the constraint P(('x', 'y'), None)"
dist.mesh @mesh = <["x"=2, "y"=2]>
func.func @both_axes(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %0 = dist.constraint %x <@mesh, [{"x", "y"}, {} ]> : tensor<8x4xf32>
  %1 = graph.dot_general %0, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Open dimensions take what spreads to them, behind the axes that they have; closed ones and
// axes that are to leave the value whole bind. Donated state stays one with its result.
// CHECK-LABEL: func @open
// CHECK-SAME: %arg1: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "tensor"}, {}]>, graph.name = "open"}
// CHECK-SAME: %arg2: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor", "data"}, {}]>, graph.name = "more"}
// CHECK-SAME: %arg3: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>, graph.name = "closed"}
// CHECK-SAME: %arg4: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {}]>, graph.name = "replicated"}
// CHECK-SAME: %arg5: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "tensor"}, {}]>, dist.stored = "state", graph.donate = 0
// CHECK-SAME: -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "tensor"}, {}]>},
dist.mesh @mesh = <["data"=2, "tensor"=2]>
func.func @open(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>},
    %open: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {?} ]>, graph.name = "open"},
    %more: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor", ?}, {} ]>, graph.name = "more"},
    %closed: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {?} ]>, graph.name = "closed"},
    %replicated: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {?} ], replicated = ["data"]>, graph.name = "replicated"},
    %state: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {} ]>, dist.stored = "state", graph.donate = 0})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {} ]>}, tensor<8x4xf32>) {
  %0 = graph.negate %x : tensor<8x4xf32>
  %1 = graph.multiply %0, %open : tensor<8x4xf32>
  %2 = graph.multiply %1, %more : tensor<8x4xf32>
  %3 = graph.multiply %2, %closed : tensor<8x4xf32>
  %4 = graph.multiply %3, %replicated : tensor<8x4xf32>
  %5 = graph.multiply %4, %state : tensor<8x4xf32>
  return %5, %4 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// So do those of a pinned value, forward and backward; a parameter's, in all its copies.
// CHECK-LABEL: func.func private @layer
// CHECK-SAME: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {}]>, dist.stored = "w"}
// CHECK-LABEL: func @pinned_open
// CHECK-SAME: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {}]>, dist.stored = "w"}
// CHECK: dist.constraint {{.*}} <@mesh, [{"data"}, {"tensor"}]>
// CHECK: dist.constraint {{.*}} <@mesh, [{}, {"tensor"}]>
dist.mesh @mesh = <["data"=2, "tensor"=2]>
func.func private @layer(%x: tensor<8x6xf32>, %w: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func @pinned_open(%x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>},
    %w: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {} ]>, dist.stored = "w"}) -> (tensor<8x4xf32>, tensor<8x6xf32>) {
  %0 = dist.constraint %x <@mesh, [{?}, {"tensor"} ]> : tensor<8x6xf32>
  %1 = graph.negate %0 : tensor<8x6xf32>
  %2 = call @layer(%1, %w) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %3 = dist.constraint %1 <@mesh, [{}, {"tensor"} ]> : tensor<8x6xf32>
  return %2, %3 : tensor<8x4xf32>, tensor<8x6xf32>
}

// -----

// A number scales summands as it scales their sum: two are added before they are made.
// CHECK-LABEL: func @scaled
// CHECK: graph.multiply {{.*}} partial = sum ["data"]
// CHECK: graph.divide {{.*}} partial = sum ["data"]
// CHECK: graph.add {{.*}} partial = sum ["data"]
// CHECK: graph.exponential {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
// Where the sum is read by what is not linear, too, it is made at once, for all.
// CHECK: graph.negate {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
// CHECK: graph.exponential
dist.mesh @mesh = <["data"=2]>
func.func @scaled(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}, %n: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = graph.constant dense<0.5> : tensor<4xf32>
  %all = graph.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.multiply %0, %half : tensor<4xf32>
  %2 = graph.multiply %x, %x : tensor<8x4xf32>
  %3 = graph.reduce sum, %2, dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  %4 = graph.divide %3, %all : tensor<4xf32>
  %5 = graph.add %1, %4 : tensor<4xf32>
  %6 = graph.exponential %5 : tensor<4xf32>
  %7 = graph.reduce sum, %x, dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  %8 = graph.negate %7 : tensor<4xf32>
  %9 = graph.exponential %7 : tensor<4xf32>
  %10 = graph.multiply %8, %9 : tensor<4xf32>
  return %6, %10 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A sum that one reader could hand on, but another cannot, for want of a second sum to add it
// to, is made at once for both.
// CHECK-LABEL: func @not_handed_on
// CHECK: graph.reduce {{.*}}partial = sum ["data"]
// CHECK: graph.negate {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
// CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
dist.mesh @mesh = <["data"=2]>
func.func @not_handed_on(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.negate %0 : tensor<4xf32>
  %2 = graph.add %0, %y : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two axes of 2 devices cut what one of 4 cannot: the first the rows, the second the columns.
// CHECK-LABEL: func @axes_of_prime_size
// CHECK: graph.reshape {{.*}}dist.factors = {{\[\[}}"a"], ["b"]]
dist.mesh @mesh = <["a"=2, "b"=2]>
func.func @axes_of_prime_size(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"} ]>}) -> tensor<2x4xf32> {
  %0 = graph.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Backward through functions: what is multiplied with a cut value is made so.
// CHECK-LABEL: func.func private @make
// CHECK-SAME: -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"tensor"}]>})
// CHECK-LABEL: func @backward_through_functions
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}"tensor"], ["data"], []]
dist.mesh @mesh = <["data"=2, "tensor"=2]>
func.func private @make(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
func.func @backward_through_functions(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %n: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"tensor"} ]>},
    %b: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {} ]>, dist.stored = "b"}) -> tensor<8x4xf32> {
  %0 = call @make(%x, %w) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = graph.multiply %0, %n : tensor<8x6xf32>
  %2 = graph.dot_general %1, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// How a head is stored does not force how it is computed with: many logits are not summed, the
// head is moved to its columns; a few are.
// CHECK-LABEL: func @storage
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}], [], ["tensor"]]
// CHECK-SAME: a parameter is stored so, and this moves least
// CHECK: graph.dot_general {{.*}}dist.factors = {{\[\[}}"tensor"], [], []]
dist.mesh @mesh = <["tensor"=2]>
func.func @storage(%many: tensor<1024x64xf32>, %few: tensor<8x64xf32>,
    %head: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {} ]>, dist.stored = "head"}) -> (tensor<1024x16xf32>, tensor<8x16xf32>) {
  %0 = graph.dot_general %many, %head, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x16xf32>) -> tensor<1024x16xf32>
  %1 = graph.dot_general %few, %head, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<1024x16xf32>, tensor<8x16xf32>
}

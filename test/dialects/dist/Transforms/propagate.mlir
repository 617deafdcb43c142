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
func.func @pinned(%x: tensor<8x4xf32>, %y: tensor<8x6xf32>,
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

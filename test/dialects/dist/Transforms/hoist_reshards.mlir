// RUN: minigptc-opt %s --dist-hoist-reshards --split-input-file | FileCheck %s

// What two places of a body gather of a parameter, and what it gathers of a conversion of one, is
// gathered before the loop, once. Not over the axis that cuts the batch, nor of what is no parameter; what is only
// cut moves nothing.
// CHECK-LABEL: func private @body
// CHECK-SAME: (%[[W:[^ :]*]]: tensor<4x4xf32> {{.*}}, %[[U:[^ :]*]]: tensor<4x4xf32> {{.*}}, %[[V:[^ :]*]]: tensor<4x4xf32> {{.*}}, %{{[^ :]*}}: tensor<16x4xf32> {{.*}}, %[[A:[^ :]*]]: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, %[[B:[^ :]*]]: tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, %{{[^ :]*}}: tensor<4x4xf32> {{.*}}graph.donate = 0 : i64}, %{{[^ :]*}}: tensor<1x4xf32>
// CHECK-NEXT: dist.reshard %[[W]] to <@mesh, [{"data"}, {"model"}]>
// CHECK-NEXT: dist.reshard %[[U]] to <@mesh, [{}, {}]>
// CHECK-NEXT: dist.reshard %[[V]] to <@mesh, [{}, {}]>
// CHECK-NEXT: graph.convert %[[W]]
// CHECK-NEXT: graph.convert %[[B]]
// CHECK-NEXT: graph.add %[[A]], %[[A]]
dist.mesh @mesh = <["data"=2, "model"=2]>
func.func private @body(
    %w: tensor<4x4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{}, {"model"} ]>},
    %u: tensor<4x4xf32> {dist.stored = "u", dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>},
    %v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"} ]>},
    %large: tensor<16x4xf32> {dist.stored = "large", dist.sharding = #dist.sharding<@mesh, [{}, {} ]>},
    %s: tensor<4x4xf32> {graph.donate = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {} ]>},
    %x: tensor<1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"} ]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {} ]>}) {
  %cut = dist.reshard %w to <@mesh, [{"data"}, {"model"} ]> : tensor<4x4xf32>
  %first = dist.reshard %w to <@mesh, [{}, {} ]> {dist.origins = [#dist.origin<why = "one", annotation = "", instead = "", tensor = "w">]} : tensor<4x4xf32>
  %again = dist.reshard %w to <@mesh, [{}, {} ]> {dist.origins = [#dist.origin<why = "two", annotation = "", instead = "", tensor = "w">]} : tensor<4x4xf32>
  %fsdp = dist.reshard %u to <@mesh, [{}, {} ]> : tensor<4x4xf32>
  %value = dist.reshard %v to <@mesh, [{}, {} ]> : tensor<4x4xf32>
  %narrow = graph.convert %w {dist.factors = [[], ["model"]], dist.shardings = [#dist.sharding<@mesh, [{}, {"model"} ]>]} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %all = dist.reshard %narrow to <@mesh, [{}, {} ]> : tensor<4x4xbf16>
  %wide = graph.convert %all {dist.factors = [[], []], dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %0 = graph.add %first, %again {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %1 = graph.add %0, %wide {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %2 = graph.add %1, %fsdp {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %3 = graph.add %2, %value {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %4 = dist.reshard %cut to <@mesh, [{}, {} ]> : tensor<4x4xf32>
  %5 = graph.add %s, %3 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %6 = graph.add %5, %4 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
// CHECK-LABEL: func @step
// CHECK: %[[N:.*]] = graph.convert %arg0
// CHECK: dist.reshard %[[N]] to <@mesh, [{}, {}]>
// CHECK-NOT: dist.reshard %arg1
// CHECK: graph.scan @body(%arg0, %arg1, %arg2, %arg3, %{{.*}}, %{{.*}}) carried(
func.func @step(
    %w: tensor<4x4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{}, {"model"} ]>},
    %u: tensor<4x4xf32> {dist.stored = "u", dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>},
    %v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"} ]>, dist.stored = "v"},
    %large: tensor<16x4xf32> {dist.stored = "large", dist.sharding = #dist.sharding<@mesh, [{}, {} ]>},
    %x: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"} ]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {} ]>}) attributes {graph.entry} {
  %zero = graph.constant {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} dense<0.0> : tensor<4x4xf32>
  %0 = graph.scan @body(%w, %u, %v, %large) carried(%zero) cut(%x) count = 3 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<16x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Tasks of a stage: each is called for some micro-batches, and both share what they gather. An argument that differs stays.
// CHECK-LABEL: func private @forward(
// CHECK-NOT: dist.reshard %arg0
// CHECK: dist.reshard %arg1
// CHECK-LABEL: func private @backward(
// CHECK-NOT: dist.reshard
// CHECK-LABEL: func @step
// CHECK-NEXT: %[[W:.*]] = dist.reshard %arg0 to <@mesh, [{}]>
// CHECK-NOT: dist.reshard
// CHECK: call @forward(%arg0, %arg1, %[[W]])
// CHECK: call @forward(%arg0, %{{.*}}, %[[W]])
// CHECK: call @backward(%arg0, %[[W]])
// CHECK: call @backward(%arg0, %[[W]])
dist.mesh @mesh = <["model"=2]>
func.func private @forward(
    %w: tensor<4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"model"} ]>},
    %u: tensor<4xf32> {dist.stored = "u", dist.sharding = #dist.sharding<@mesh, [{"model"} ]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}) {
  %0 = dist.reshard %w to <@mesh, [{} ]> : tensor<4xf32>
  %1 = dist.reshard %u to <@mesh, [{} ]> : tensor<4xf32>
  %2 = graph.add %0, %1 {dist.shardings = [#dist.sharding<@mesh, [{} ]>]} : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @backward(
    %w: tensor<4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"model"} ]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}) {
  %0 = dist.reshard %w to <@mesh, [{} ]> : tensor<4xf32>
  %1 = graph.negate %0 {dist.shardings = [#dist.sharding<@mesh, [{} ]>]} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @step(
    %w: tensor<4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"model"} ]>},
    %u: tensor<4xf32> {dist.stored = "u", dist.sharding = #dist.sharding<@mesh, [{"model"} ]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}, tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}) attributes {graph.entry} {
  %v = graph.negate %u {dist.shardings = [#dist.sharding<@mesh, [{"model"} ]>]} : tensor<4xf32>
  %a = call @forward(%w, %u) {dist.shardings = [#dist.sharding<@mesh, [{} ]>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = call @forward(%w, %v) {dist.shardings = [#dist.sharding<@mesh, [{} ]>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = call @backward(%w) {dist.shardings = [#dist.sharding<@mesh, [{} ]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %d = call @backward(%w) {dist.shardings = [#dist.sharding<@mesh, [{} ]>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %b, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// There is room for as much as the parameters that are given: the second one stays.
// CHECK-LABEL: func private @body
// CHECK: dist.reshard %arg1 to <@mesh, [{}, {}]>
// CHECK-LABEL: func @step
// CHECK: dist.reshard %arg0
// CHECK-NOT: dist.reshard %arg1
dist.mesh @mesh = <["model"=2]>
func.func private @body(
    %w: tensor<4x4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"model"}, {} ]>},
    %u: tensor<4x4xf32> {dist.stored = "u", dist.sharding = #dist.sharding<@mesh, [{}, {"model"} ]>},
    %s: tensor<4x4xf32> {graph.donate = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {} ]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {} ]>}) {
  %0 = dist.reshard %w to <@mesh, [{}, {} ]> : tensor<4x4xf32>
  %1 = dist.reshard %u to <@mesh, [{}, {} ]> : tensor<4x4xf32>
  %2 = graph.add %0, %1 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %3 = graph.add %s, %2 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
func.func @step(
    %w: tensor<4x4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"model"}, {} ]>},
    %u: tensor<4x4xf32> {dist.stored = "u", dist.sharding = #dist.sharding<@mesh, [{}, {"model"} ]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {} ]>}) attributes {graph.entry} {
  %zero = graph.constant {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} dense<0.0> : tensor<4x4xf32>
  %0 = graph.scan @body(%w, %u) carried(%zero) cut() count = 3 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// RUN: minigptc-opt %s --graph-sink-converts | FileCheck %s

// CHECK-LABEL: func private @update
// CHECK-SAME: (%[[P:.*]]: tensor<8xf32>, %[[G:.*]]: tensor<8xbf16>)
// CHECK: %[[W:.*]] = graph.convert %[[G]]
// CHECK: graph.subtract %[[P]], %[[W]]
func.func private @update(%p: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.subtract %p, %g : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The second call passes what is f32 from the start; a rounded argument stays rounded.
// CHECK-LABEL: func private @mixed
// CHECK-SAME: (%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xbf16>)
// CHECK-NEXT: graph.negate
func.func private @mixed(%a: tensor<8xf32>, %b: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>) {
  %0 = graph.negate %a : tensor<8xf32>
  %1 = graph.negate %b : tensor<8xbf16>
  return %0, %1 : tensor<8xf32>, tensor<8xbf16>
}

// What another reader needs stays.
// CHECK-LABEL: func @main
// CHECK-SAME: %[[PARAM:.*]]: tensor<8xf32>, %[[GRAD:.*]]: tensor<8xbf16>, %[[OTHER:.*]]: tensor<8xbf16>
// CHECK: %[[WIDE:.*]] = graph.convert %[[GRAD]]
// CHECK: call @update(%[[PARAM]], %[[GRAD]])
// CHECK: call @update(%{{.*}}, %[[OTHER]])
// CHECK: call @mixed(%[[WIDE]]
func.func @main(%p: tensor<8xf32>, %g: tensor<8xbf16>, %h: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>) {
  %wide = graph.convert %g : (tensor<8xbf16>) -> tensor<8xf32>
  %other = graph.convert %h : (tensor<8xbf16>) -> tensor<8xf32>
  %0 = call @update(%p, %wide) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = call @update(%0, %other) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %narrow = graph.convert %wide : (tensor<8xf32>) -> tensor<8xbf16>
  %2, %3 = call @mixed(%wide, %narrow) : (tensor<8xf32>, tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>)
  %4, %5 = call @mixed(%p, %narrow) : (tensor<8xf32>, tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>)
  return %1, %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>
}

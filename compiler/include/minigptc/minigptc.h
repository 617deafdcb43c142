//===- minigptc.h - all public headers --------------------------*- C++ -*-===//
#ifndef MINIGPTC_MINIGPTC_H
#define MINIGPTC_MINIGPTC_H

#include "minigptc/compiler/Compile.h"
#include "minigptc/compiler/Explain.h"
#include "minigptc/nn/Attention.h"
#include "minigptc/nn/Init.h"
#include "minigptc/nn/Layers.h"
#include "minigptc/nn/Module.h"
#include "minigptc/optim/Optimizer.h"
#include "minigptc/optim/Schedule.h"
#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Mesh.h"
#include "minigptc/runtime/Print.h"
#include "minigptc/runtime/Session.h"
#include "minigptc/runtime/Status.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Function.h"
#include "minigptc/trace/Jit.h"
#include "minigptc/trace/Jvp.h"
#include "minigptc/trace/Key.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Pipeline.h"
#include "minigptc/trace/Print.h"
#include "minigptc/trace/Program.h"
#include "minigptc/trace/ShardMap.h"
#include "minigptc/trace/Sharding.h"
#include "minigptc/trace/TraceError.h"
#include "minigptc/trace/Transforms.h"
#include "minigptc/trace/Value.h"
#include "minigptc/trace/Vmap.h"

#endif // MINIGPTC_MINIGPTC_H

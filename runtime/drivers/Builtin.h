//===- Builtin.h - the drivers in this library ------------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_BUILTIN_H
#define MINIGPTC_RUNTIME_DRIVERS_BUILTIN_H

namespace minigptc::runtime {

/// Registers them, once per process. `Session` does so; call it before `drivers()`.
void registerBuiltinDrivers();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_BUILTIN_H

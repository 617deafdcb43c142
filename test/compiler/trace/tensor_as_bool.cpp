// Does not compile, with a message that says what to write instead (see CMakeLists.txt).
#include "minigptc/trace/Value.h"

int choose(minigptc::Value x) { return x > 0 ? 1 : 2; }

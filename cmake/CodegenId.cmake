# Writes OUTPUT with a hash of the code generator's sources: part of the key of
# the object cache, so that code of another generator is never reused. The hash
# depends on file contents only, not on where the checkout is.
set(all "")
foreach(source IN LISTS SOURCES)
  file(SHA256 ${source} hash)
  get_filename_component(name ${source} NAME)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 id "${all}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// The code generator's sources, hashed; see CodegenId.cmake.\n\
static constexpr const char *kCodegenId = \"${id}\";\n")

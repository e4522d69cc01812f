# embed_file(TARGET SYMBOL PATH): the bytes of a file inside the program, as
#   namespace sinkscope::embedded { std::string_view SYMBOL(); }
# The assembler copies the file, so its size costs no compile time.
function(embed_file target symbol path)
  get_filename_component(file ${path} ABSOLUTE)
  set(base ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol})
  file(CONFIGURE OUTPUT ${base}.S CONTENT [[
  .section .rodata
  .global sinkscope_embedded_@symbol@_begin
  .global sinkscope_embedded_@symbol@_end
sinkscope_embedded_@symbol@_begin:
  .incbin "@file@"
sinkscope_embedded_@symbol@_end:
  .byte 0
  .section .note.GNU-stack,"",%progbits
]] @ONLY)
  file(CONFIGURE OUTPUT ${base}.cpp CONTENT [[
#include <string_view>
extern "C" const char sinkscope_embedded_@symbol@_begin[], sinkscope_embedded_@symbol@_end[];
namespace sinkscope::embedded {
std::string_view @symbol@() {
  return {sinkscope_embedded_@symbol@_begin, sinkscope_embedded_@symbol@_end};
}
}  // namespace sinkscope::embedded
]] @ONLY)
  set_source_files_properties(${base}.S PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${base}.S ${base}.cpp)
endfunction()

# Everything is found on the system; nothing is fetched at configure time.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(SQLiteCpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)

# LibTorch: Debian's package, or the directory of pip's torch package. The latter's own
# TorchConfig.cmake asks for a CUDA toolkit even for a CPU build, so its directories are taken here.
add_library(sinkscope_torch INTERFACE)
if(SINKSCOPE_TORCH_DIR)
  find_library(TORCH_CPU_LIBRARY torch_cpu PATHS ${SINKSCOPE_TORCH_DIR}/lib NO_DEFAULT_PATH REQUIRED)
  find_library(TORCH_C10_LIBRARY c10 PATHS ${SINKSCOPE_TORCH_DIR}/lib NO_DEFAULT_PATH REQUIRED)
  # pip's include directory also holds a copy of fmt, which would hide the system's: only LibTorch's
  # own folders are shown to the compiler.
  foreach(folder ATen c10 caffe2 torch)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/torch_include)
    file(CREATE_LINK ${SINKSCOPE_TORCH_DIR}/include/${folder} ${CMAKE_BINARY_DIR}/torch_include/${folder} SYMBOLIC)
  endforeach()
  target_include_directories(sinkscope_torch SYSTEM INTERFACE
    ${CMAKE_BINARY_DIR}/torch_include ${CMAKE_BINARY_DIR}/torch_include/torch/csrc/api/include)
  target_link_libraries(sinkscope_torch INTERFACE ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY})
  find_library(TORCH_CUDA_LIBRARY torch_cuda PATHS ${SINKSCOPE_TORCH_DIR}/lib NO_DEFAULT_PATH)
  if(TORCH_CUDA_LIBRARY)
    # Kept although no symbol is named: loading it registers the CUDA operators.
    target_link_options(sinkscope_torch INTERFACE
      "LINKER:--push-state,--no-as-needed,${TORCH_CUDA_LIBRARY},--pop-state")
  endif()
else()
  find_library(TORCH_CPU_LIBRARY torch_cpu REQUIRED)
  find_library(TORCH_C10_LIBRARY c10 REQUIRED)
  find_path(TORCH_INCLUDE ATen/ATen.h REQUIRED)
  target_include_directories(sinkscope_torch SYSTEM INTERFACE
    ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)
  target_link_libraries(sinkscope_torch INTERFACE ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY})
endif()
target_link_libraries(sinkscope_torch INTERFACE OpenMP::OpenMP_CXX PkgConfig::HWY)

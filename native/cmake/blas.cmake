# flambeau::blas, and what the sources know of it: FB_HAVE_BLAS, and FB_BLAS_PREFIX, which stands before every
# symbol (scipy_cblas_sgemm).
set(FB_BLAS "scipy-openblas" CACHE STRING "scipy-openblas (the PyPI package scipy-openblas32), system or none")
set(FB_OPENBLAS_LIB "" CACHE FILEPATH "FB_BLAS=scipy-openblas: the library, where not the installed package's")
set(FB_OPENBLAS_INCLUDE "" CACHE PATH "FB_BLAS=scipy-openblas: its headers")

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

add_library(flambeau::blas INTERFACE IMPORTED GLOBAL)
if(FB_BLAS STREQUAL "scipy-openblas")
    if(NOT FB_OPENBLAS_LIB)
        execute_process(
            COMMAND ${Python3_EXECUTABLE} -c
                "import scipy_openblas32 as b; print(b.get_lib_dir() + '/lib' + b.get_library() + '.so', b.get_include_dir(), sep=';', end='')"
            OUTPUT_VARIABLE found RESULT_VARIABLE status ERROR_QUIET)
        if(status)
            message(FATAL_ERROR "FB_BLAS=scipy-openblas: ${Python3_EXECUTABLE} has no package scipy-openblas32. "
                "Install it, or pass -DFB_BLAS=system or -DFB_BLAS=none.")
        endif()
        list(GET found 0 FB_OPENBLAS_LIB)
        list(GET found 1 FB_OPENBLAS_INCLUDE)
    endif()
    set(FB_BLAS_FILE ${FB_OPENBLAS_LIB})
    target_link_libraries(flambeau::blas INTERFACE ${FB_OPENBLAS_LIB})
    target_include_directories(fb_flags SYSTEM INTERFACE ${FB_OPENBLAS_INCLUDE})
    target_compile_definitions(fb_flags INTERFACE FB_HAVE_BLAS=1 FB_BLAS_PREFIX=scipy_)
elseif(FB_BLAS STREQUAL "system")
    find_package(BLAS REQUIRED)
    find_package(LAPACK REQUIRED)
    target_link_libraries(flambeau::blas INTERFACE ${LAPACK_LIBRARIES} ${BLAS_LIBRARIES})
    target_compile_definitions(fb_flags INTERFACE FB_HAVE_BLAS=1 FB_BLAS_PREFIX=)
elseif(NOT FB_BLAS STREQUAL "none")
    message(FATAL_ERROR "FB_BLAS=${FB_BLAS}: expected scipy-openblas, system or none")
endif()

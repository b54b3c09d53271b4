# Never -ffast-math, and no contraction: an fma happens only where it is written, so that a loop's tail rounds
# like its vector body. errno and floating-point traps are used nowhere.
add_library(fb_flags INTERFACE)
target_compile_options(fb_flags INTERFACE
    -std=gnu11 -fno-math-errno -fno-trapping-math -ffp-contract=off
    -fPIC -fvisibility=hidden -Wall -Wextra $<$<BOOL:${FB_WERROR}>:-Werror>)
target_include_directories(fb_flags INTERFACE
    ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_BINARY_DIR}/gen)

if(FB_SANITIZE)
    # -O1 keeps the reports' line numbers true; what a sanitizer finds ends the program.
    target_compile_options(fb_flags INTERFACE
        -fsanitize=${FB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1)
    target_link_options(fb_flags INTERFACE -fsanitize=${FB_SANITIZE})
endif()

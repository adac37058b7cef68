#!/bin/sh
# Builds av1.wasm.gz from the source of Debian's package dav1d. On Debian 12 it needs the packages clang-14, lld-14,
# wasi-libc, libclang-rt-14-dev-wasm32, dpkg-dev and a deb-src line. The same packages give the same file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get source "dav1d=${VERSION:-1.0.0-2+deb12u1}"
src=$(echo "$work"/dav1d-*/)

mkdir include objects
cp "$here/pthread.h" include
# WebAssembly has no assembly here, and no log.
for name in ARCH_AARCH64 ARCH_ARM ARCH_PPC64LE ARCH_X86 ARCH_X86_32 ARCH_X86_64 CONFIG_LOG ENDIANNESS_BIG HAVE_ASM \
    TRIM_DSP_FUNCTIONS; do
    echo "#define $name 0"
done >include/config.h
for name in CONFIG_8BPC CONFIG_16BPC HAVE_CLOCK_GETTIME HAVE_POSIX_MEMALIGN HAVE_UNISTD_H; do
    echo "#define $name 1"
done >>include/config.h
echo '#define DAV1D_VERSION "'"${VERSION:-1.0.0}"'"' >include/vcs_version.h
sed 's/@[A-Z0-9_]*@/6/' "$src/include/dav1d/version.h.in" >include/version.h

cc="clang-14 --target=wasm32-wasi -O3 -std=c99 -D_GNU_SOURCE -DNDEBUG -ffast-math -fvisibility=hidden -w
    -ffile-prefix-map=$work=. -I include -I $src -I $src/include -I $src/include/dav1d -I $src/src"
for name in cdf cpu data decode dequant_tables getbits intra_edge itx_1d lf_mask lib log mem msac obu picture qm ref \
    refmvs scan tables thread_task warpmv wedge; do
    $cc -c "$src/src/$name.c" -o "objects/$name.o"
done
for name in cdef_apply cdef fg_apply filmgrain ipred_prepare ipred itx lf_apply loopfilter looprestoration lr_apply mc \
    recon; do
    for depth in 8 16; do
        $cc -DBITDEPTH=$depth -c "$src/src/${name}_tmpl.c" -o "objects/${name}_$depth.o"
    done
done
$cc -c "$here/av1.c" -o objects/av1.o
clang-14 --target=wasm32-wasi -mexec-model=reactor -O3 -Wl,--export=malloc -Wl,--strip-all -Wl,--gc-sections \
    -Wl,-z,stack-size=1048576 objects/*.o -o av1.wasm
gzip -9 -n -c av1.wasm >"$here/av1.wasm.gz"
cp "$src/COPYING" "$here/COPYING"

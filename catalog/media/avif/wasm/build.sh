#!/bin/sh
# Builds avif.wasm.gz from the source of Debian's packages dav1d and libavif. On Debian 12 it needs the packages
# clang-19, lld-19, wasi-libc, libclang-rt-19-dev-wasm32, dpkg-dev and a deb-src line of Debian sid. The same packages
# give the same file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get source "dav1d=${DAV1D:-1.5.4-1}" "libavif=${LIBAVIF:-1.4.2-1}"
dav1d=$(echo "$work"/dav1d-*/) libavif=$(echo "$work"/libavif-*/)

mkdir include objects
cp "$here/pthread.h" include
# WebAssembly has no assembly here, and no log.
for name in ARCH_AARCH64 ARCH_ARM ARCH_LOONGARCH ARCH_LOONGARCH32 ARCH_LOONGARCH64 ARCH_PPC64LE ARCH_RISCV ARCH_RV32 \
    ARCH_RV64 ARCH_X86 ARCH_X86_32 ARCH_X86_64 CONFIG_LOG ENDIANNESS_BIG HAVE_ALIGNED_ALLOC HAVE_ASM HAVE_C11_GENERIC \
    HAVE_DLSYM HAVE_ELF_AUX_INFO HAVE_GETAUXVAL HAVE_IO_H HAVE_MEMALIGN HAVE_PTHREAD_GETAFFINITY_NP HAVE_PTHREAD_NP_H \
    HAVE_PTHREAD_SETAFFINITY_NP HAVE_PTHREAD_SETNAME_NP HAVE_PTHREAD_SET_NAME_NP HAVE_SIGACTION HAVE_SYS_TYPES_H \
    TRIM_DSP_FUNCTIONS; do
    echo "#define $name 0"
done >include/config.h
for name in CONFIG_8BPC CONFIG_16BPC HAVE_CLOCK_GETTIME HAVE_POSIX_MEMALIGN HAVE_UNISTD_H; do
    echo "#define $name 1"
done >>include/config.h
echo '#define DAV1D_VERSION ""' >include/vcs_version.h

cc="clang-19 --target=wasm32-wasi -O3 -std=c11 -D_GNU_SOURCE -DNDEBUG -fvisibility=hidden -ffunction-sections
    -fdata-sections -w -ffile-prefix-map=$work=. -I include -I $dav1d/include"
av1="$cc -I $dav1d -I $dav1d/include/dav1d -I $dav1d/src"
for name in cdf cpu ctx data decode dequant_tables getbits intra_edge itx_1d lf_mask lib log mem msac obu pal picture \
    qm ref refmvs scan tables thread_task warpmv wedge; do
    $av1 -c "$dav1d/src/$name.c" -o "objects/dav1d_$name.o"
done
for name in cdef_apply cdef fg_apply filmgrain ipred_prepare ipred itx lf_apply loopfilter looprestoration lr_apply mc \
    recon; do
    for depth in 8 16; do
        $av1 -DBITDEPTH=$depth -c "$dav1d/src/${name}_tmpl.c" -o "objects/dav1d_${name}_$depth.o"
    done
done
avif="$cc -DAVIF_CODEC_DAV1D=1 -Dstatic_assert=_Static_assert -I $libavif/include"
for name in alpha avif codec_dav1d colr colrconvert diag exif gainmap io mem obu properties rawdata read reformat \
    reformat_libsharpyuv reformat_libyuv sampletransform stream utils write; do
    rename=
    if [ $name = codec_dav1d ]; then rename=-DavifCodecCreateDav1d=create_dav1d; fi
    $avif $rename -c "$libavif/src/$name.c" -o "objects/avif_$name.o"
done
$avif -c "$here/avif.c" -o objects/avif.o
clang-19 --target=wasm32-wasi -mexec-model=reactor -O3 -Wl,--export=malloc -Wl,--strip-all -Wl,--gc-sections \
    -Wl,-z,stack-size=1048576 objects/*.o -lm -o avif.wasm
gzip -9 -n -c avif.wasm >"$here/avif.wasm.gz"
cp "$dav1d/COPYING" "$here/COPYING.dav1d"
cp "$libavif/LICENSE" "$here/LICENSE.libavif"

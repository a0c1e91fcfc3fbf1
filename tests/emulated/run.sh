#!/bin/bash
# Compares compiled with interpreted results on an emulated Sapphire Rapids, under Linux: AVX-512 and AMX code on a machine that has neither.
#
#   tests/emulated/run.sh CRESSET_RUN FOLDER [FILE.mlir …]     FOLDER is for what lies between; without files the products, convolutions and attention of tests/mlir
#
# BOCHS=…   Bochs 3 or later, configured with --enable-x86-64 --enable-cpu-level=6 --enable-avx --enable-evex --enable-amx --with-nogui
#           Some versions (3.0.devel) take vdpbf16ps's short displacements for multiples of 4 instead of 64 bytes, so one row times a matrix of bf16 comes out wrong:
#           sed -i '/EVEX_VDPBF16PS/s/OP_mVdq32/OP_mVdq/' cpu/decoder/ia_opcodes_evex.def before it is built
# KERNEL=…  an image of Linux 5.16 or later with drivers for a serial port built in; by default the newest in /boot
# Debian's busybox-static, cpio, xorriso, isolinux and syslinux-common. Without one of these it says so and passes.
set -e
program=$(realpath "$1") folder=$2 tests=$(realpath "$(dirname "$0")/../mlir")
shift 2
skip() { echo "skipped: no $1"; exit 0; }
BOCHS=$(command -v "${BOCHS:-bochs}") || skip "Bochs (BOCHS=…)"
KERNEL=${KERNEL:-$(ls -v /boot/vmlinuz-* 2> /dev/null | tail -1)}
[ -r "$KERNEL" ] || skip "kernel (KERNEL=…)"
for tool in busybox xorriso; do command -v $tool > /dev/null || skip $tool; done
boot=(/usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32)
for file in "${boot[@]}"; do [ -r "$file" ] || skip "$file"; done
share=${BXSHARE:-$(dirname "$BOCHS")/bios}
[ -d "$share" ] || share=/usr/share/bochs
bios() { find -L "$share" -name "$1" | head -1; }
"$BOCHS" --help cpu 2>&1 | grep -q sapphire_rapids || skip "sapphire_rapids in this Bochs"

rm -rf "$folder"
mkdir -p "$folder"/root/{bin,modules,lib64} "$folder"/disc/isolinux
cd "$folder"
cp "$(command -v busybox)" root/bin/busybox
cp "$program" root/cresset-run
ldd "$program" | grep -o '/[^ ]*' | xargs cp -Lt root/lib64
if [ $# -gt 0 ]; then cp "$@" root/modules; else
  cp "$tests"/{products,products-thin,products-bf16,products-groups,convolution,convolution_gradients,winograd}.mlir root/modules
  for file in bf16 attention; do "${LLVM_BIN:-/usr/lib/llvm-22/bin}"/split-file "$tests/$file.mlir" split-$file; done
  cp split-bf16/*.mlir root/modules
  cat split-attention/{main,functions}.mlir > root/modules/attention.mlir
fi
cat > root/init <<'END'
#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /dev && $b mount -t proc proc /proc && $b mount -t devtmpfs dev /dev
export LD_LIBRARY_PATH=/lib64 CRESSET_THREADS=1 CRESSET_CACHE_DIR=
for cpu in amx avx512; do
  for module in /modules/*; do
    echo "=== $cpu ${module##*/}"
    /cresset-run --compare --cpu=$cpu $module 2>&1
    echo "=== status $?"
  done
done
$b poweroff -f
END
chmod +x root/init
(cd root && find . | busybox cpio -o -H newc 2> /dev/null | gzip -1 > ../disc/initrd.gz)
cp "$KERNEL" disc/linux
cp "${boot[@]}" disc/isolinux
printf 'DEFAULT linux\nPROMPT 0\nTIMEOUT 1\nLABEL linux\n KERNEL /linux\n APPEND initrd=/initrd.gz console=ttyS0,115200 mitigations=off panic=5\n' > disc/isolinux/isolinux.cfg
xorriso -as mkisofs -quiet -o disc.iso -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table disc 2> /dev/null
cat > configuration <<END
megs: 2047
romimage: file=$(bios BIOS-bochs-latest)
vgaromimage: file=$(bios VGABIOS-lgpl-latest.bin)
cpu: model=sapphire_rapids, count=1, ips=20000000, exclude_features="pks,cet,la57"
ata0-master: type=cdrom, path=disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial
log: log
panic: action=fatal
display_library: nogui
clock: sync=none
END
"$BOCHS" -q -f configuration > out 2>&1 || true
tr -d '\r' < serial | grep -a -E '^===|largest error|rror:' || true
passed=$(grep -a -c '^=== status 0' serial) all=$(($(ls root/modules | wc -l) * 2))
echo "$passed of $all passed"
[ "$passed" = $all ]

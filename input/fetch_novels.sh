#!/bin/sh
# Makes OUTPUT_FOLDER/train.txt and validation.txt, 8.2 MB of English prose: the six novels of Jane Austen and the King James
# Bible, both free of copyright, out of packages of Debian 12 (r-cran-janeaustenr; bible-kjv, bible-kjv-text). Validation is
# the last 5 % of each, cut at a paragraph. No root and nothing installed; does nothing if both files are there.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 OUTPUT_FOLDER" >&2; exit 2; }
output=$1
expected=a0cfff49e5984157b9c75d6ba02190fc5bbbdcc2cff74090c7fc8d94a5ee263f  # sha256 of both texts before the split
[ -s "$output/train.txt" ] && [ -s "$output/validation.txt" ] && { echo "$output: texts are there"; exit 0; }

stop() {
  cat >&2 <<END
$0: $1
Any text will do instead: put your own into
  $output/train.txt
  $output/validation.txt    (text that is not in train.txt)
END
  exit 1
}

for tool in apt-get dpkg-deb python3 awk sha256sum; do
  command -v $tool >/dev/null || stop "$tool is missing here, the texts come out of Debian packages"
done
mkdir -p "$output"
work=$(mktemp -d "$output/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# libreadline8 is what the bible program is linked with; a small installation lacks it.
download() { (cd "$work" && apt-get download r-cran-janeaustenr bible-kjv bible-kjv-text libreadline8) >"$work/log" 2>&1; }
download || { [ "$(id -u)" = 0 ] && apt-get update >/dev/null 2>&1 && download; } ||
  stop "apt-get download failed (apt-get update, as root, may help): $(tail -n 1 "$work/log")"
for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/files"; done

# The novels are vectors of strings in R's lazy-load database: objects one after the other, each 4 bytes of length and then
# a compressed stream, which holds a serialized value (R Internals, section 1.8). Character vectors are type 16, strings type 9.
python3 - "$work/files/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb" >"$work/novels.txt" <<'END' || stop "no novels in the package"
import bz2, lzma, struct, sys, zlib

def objects(data):
    while data:
        form = data[4:5]
        if form == b'2':
            stream, begin = bz2.BZ2Decompressor(), 5
        elif form == b'Z':
            stream, begin = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[{'id': lzma.FILTER_LZMA2}]), 5
        else:
            stream, begin = zlib.decompressobj(), 4
        yield stream.decompress(data[begin:])
        data = stream.unused_data

def strings(value):
    """The lines of a serialized character vector; none of anything else."""
    version, = struct.unpack_from('>i', value, 2)
    place = 14 + (4 + struct.unpack_from('>i', value, 14)[0] if version == 3 else 0)
    flags, count = struct.unpack_from('>ii', value, place)
    place += 8
    if flags & 255 != 16:
        return
    for _ in range(count):
        flags, size = struct.unpack_from('>ii', value, place)
        yield value[place + 8:place + 8 + max(size, 0)]  # -1: NA
        place += 8 + max(size, 0)

for value in objects(open(sys.argv[1], 'rb').read()):
    lines = list(strings(value))
    if len(lines) > 1000:
        sys.stdout.buffer.write(b'\n'.join(lines) + b'\n\n')
END
libraries=$(find "$work/files" -name 'libreadline.so*' -exec dirname {} \; | sort -u | paste -sd:)
LD_LIBRARY_PATH=$libraries "$work/files/usr/bin/bible" -p "$work/files/usr/lib" -f 'gen1:1-rev22:21' 2>"$work/log" >"$work/verses.txt" ||
  stop "the bible program does not run here: $(tail -n 1 "$work/log")"

# One verse a line without its place ("Genesis1:1 "); the one character beyond ASCII, a pound sign, becomes L.
LC_ALL=C sed "s/$(printf '\302\243')/L/g" "$work/novels.txt" >"$work/novels"
LC_ALL=C sed -E 's/^[^:]*:[0-9]+ //' "$work/verses.txt" >"$work/verses"
found=$(cat "$work/novels" "$work/verses" | sha256sum | cut -d ' ' -f 1)
[ "$found" = $expected ] || stop "the packages hold other texts than expected: sha256 $found, not $expected"

# split TEXT END: the first 95 % and on to the next line that matches END go to train.txt, the rest to validation.txt.
split() {
  LC_ALL=C awk -v cut="$(($(wc -c <"$1") * 95 / 100))" -v end="$2" -v train="$work/train.txt" -v rest="$work/validation.txt" '
    { print > (past ? rest : train); size += length($0) + 1 }
    size >= cut && $0 ~ end { past = 1 }' "$1"
}
for part in train validation; do : >"$work/$part.txt"; done
split "$work/novels" '^$' && mv "$work/train.txt" "$work/a" && mv "$work/validation.txt" "$work/b"
split "$work/verses" '' && cat "$work/a" "$work/train.txt" >"$work/train" && cat "$work/b" "$work/validation.txt" >"$work/validation"
mv "$work/validation" "$output/validation.txt"
mv "$work/train" "$output/train.txt"
wc -c "$output/train.txt" "$output/validation.txt"

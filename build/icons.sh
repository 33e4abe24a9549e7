#!/bin/sh
# Renders the icons from their SVG sources (Debian: librsvg2-bin imagemagick).
# The results are committed; run this after changing a source.
set -eu
cd "$(dirname "$0")/../assets/icons"

tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# Colours of a variant, in the order idle, well, degraded, trouble, unavailable,
# down. "any" keeps 3 : 1 against light and dark panels alike; the other two suit
# one of them. Red is for the one state in which no request is answered.
colours() {
	case $1 in
	any) echo '#7c858e #1b84c4 #b8730a #b8730a #df4138 #7c858e' ;;
	light) echo '#5d666f #0b62a0 #8f5600 #8f5600 #b3261e #5d666f' ;;
	dark) echo '#a4adb6 #5cb8f0 #f0b040 #f0b040 #ff7a70 #a4adb6' ;;
	template) echo '#000000 #000000 #000000 #000000 #000000 #000000' ;;
	esac
}

for variant in any light dark template; do
	mkdir -p "tray/$variant"
	set -- $(colours $variant)
	for state in idle well degraded trouble unavailable down; do
		sed "s/currentColor/$1/g" "tray/$state.svg" >"$tmp/$state.svg"
		shift
		for size in 16 20 22 24 32 44 48 64; do
			rsvg-convert -w $size -h $size "$tmp/$state.svg" -o "tray/$variant/$state-$size.png"
		done
		case $variant in
		light | dark)
			base=tray/$variant/$state
			convert "$base-16.png" "$base-20.png" "$base-24.png" "$base-32.png" "$base-48.png" "$base.ico"
			;;
		esac
	done
done

rsvg-convert -w 512 -h 512 app.svg -o app.png
for size in 64 128 256; do
	rsvg-convert -w $size -h $size app.svg -o "app-$size.png"
done
for size in 16 24 32 48; do
	rsvg-convert -w $size -h $size app.svg -o "$tmp/app-$size.png"
done
convert "$tmp/app-16.png" "$tmp/app-24.png" "$tmp/app-32.png" "$tmp/app-48.png" app-64.png app-256.png app.ico

#!/bin/sh
# Build the Python environment that `make` works in, or bring it up to date:
#   sh tools/environment.sh FOLDER [GROUP ...]
# PYTHON, TORCH and TORCH_INDEX are those of the Makefile. BASE is what is installed first, and FIXED
# a file of versions that override those of constraints.txt. A GROUP is a dependency group of
# pyproject.toml.
#
# FOLDER holds its own history: `ours` (with its place) from the start, `ready` once BASE is
# installed, `ready-GROUP` for each group. So an interrupted installation goes on, and an environment
# whose Python does not run, or that was moved or copied, is emptied first. A folder without these
# files, or behind a link, is somebody else's and stays.
set -eu
venv=$1
shift
base=${BASE:-.[lab]}
run=$venv/bin/python
place=$(pwd -P)/$venv
torch=${TORCH:-}
fixed=${FIXED:-}

stop() {
	echo "$*" >&2
	exit 1
}

# The first Python that can build the environment.
find_python() {
	other="another Python with PYTHON=/path/to/python3"
	needs="Autograd Surprises needs Python 3.10 to 3.14"
	remedy="install one (Debian, Ubuntu: apt install python3-venv; macOS: brew install python@3.13)"
	problem=
	if test "${PYTHON:-}"; then
		set -- "$PYTHON"
	else
		set -- python3 python3.14 python3.13 python3.12 python3.11 python3.10
	fi
	for python; do
		version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || :
		case $version in
		3.10|3.11|3.12|3.13|3.14)
			"$python" -c 'import venv, ensurepip' 2>/dev/null && return
			problem="$python has no venv module: apt install python$version-venv (Debian, Ubuntu)"
			problem="$problem or name $other" ;;
		'') : "${problem:="$needs, and $python does not run: $remedy or name $other"}" ;;
		*) : "${problem:="$needs, and $python is $version: $remedy or name $other"}" ;;
		esac
	done
	stop "$problem"
}

# The package is found, but not imported: that would load torch, which takes seconds.
found_here() {
	"$run" -Ic 'import os; from importlib.util import find_spec; print(os.path.samefile(
		find_spec("autograd_surprises").origin, "autograd_surprises/__init__.py"))' 2>/dev/null |
		grep -q True
}

up_to_date() {
	for file in pyproject.toml constraints.txt $fixed; do
		if test "$file" -nt "$venv/ready"; then return 1; fi
	done
}

# By uv, which needs less time, or by pip where there is no uv or uv fails. Both compile to bytecode:
# otherwise the first cell would wait while torch is compiled.
install() {
	if by_uv -c "$constraints" -e "$@"; then return; fi
	case $* in *--group*) by_pip "pip>=25.1" ;; esac # the first that knows --group
	by_pip ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -c "$constraints" -e "$@"
}

by_pip() {
	"$run" -m pip install --disable-pip-version-check "$@"
}

# All indexes count alike, as for pip.
by_uv() {
	if ! uv=$(command -v uv); then
		uv=$venv/bin/uv
		test -e "$uv" || by_pip -q uv==0.13.9 || return
	fi
	configured=$("$run" -m pip config list) || return
	for each in $(setting extra-index-url) ${TORCH_INDEX:-}; do set -- --index "$each" "$@"; done
	for each in $(setting find-links); do set -- --find-links "$each" "$@"; done
	for each in $(setting index-url); do set -- --default-index "$each" "$@"; done
	case $(setting no-index) in 1|[Tt]rue|yes|on) set -- --no-index "$@" ;; esac
	cert=$(setting cert)
	env UV_COMPILE_BYTECODE=1 UV_INDEX_STRATEGY=unsafe-best-match UV_SYSTEM_CERTS=1 \
		${cert:+SSL_CERT_FILE="$cert"} "$uv" pip install --python "$run" "$@"
}

# A setting of pip, from the environment or its files, with spaces between several values.
setting() {
	for section in :env: install global; do
		values=$(printf '%s\n' "$configured" | sed -n "s/^$section\\.$1='\\(.*\\)'\$/\\1/p" | sed 's/\\n/ /g')
		if test "$values"; then break; fi
	done
	printf '%s' "$values"
}

# constraints.txt, or a copy of it where another torch or other versions are asked for.
write_constraints() {
	grep -v ${torch:+-e ^torch== -e ^sympy==} ${fixed:+-f "$venv/fixed"} constraints.txt >"$constraints"
	if test "$fixed"; then cat "$fixed" >>"$constraints"; fi
	case $torch in ''|newest) ;; *) echo "torch==$torch" >>"$constraints" ;; esac
}

constraints=constraints.txt
if test "$torch$fixed"; then constraints=$venv/constraints.txt; fi

if test -e "$venv/ready" && found_here; then
	:
elif test ! -e "$venv" && test ! -L "$venv"; then
	:
elif test "$(cat "$venv/ours" 2>/dev/null)" = "$place" && "$run" -c '' 2>/dev/null; then
	rm -f "$venv/ready" # goes on
elif test ! -L "$venv" && { test -e "$venv/ours" || test -e "$venv/ready"; }; then
	find_python # or stop, before anything is removed
	for each in "$venv"/* "$venv"/.[!.]*; do
		test "$each" = "$venv/ours" || rm -rf "$each"
	done
else
	stop "$venv is a link, or was not made by \`make\` in this folder, and stays as it is:" \
		"rename or remove it, and run \`make\` again"
fi

if ! test -e "$venv/ready" || ! up_to_date; then
	find_python
	mkdir -p "$venv"
	echo "$place" >"$venv/ours"
	rm -f "$venv"/ready*
	"$python" -m venv "$venv"
	if test "$fixed"; then sed -n 's/\(.*==\).*/^\1/p' "$fixed" >"$venv/fixed"; fi
	if test "$torch$fixed"; then write_constraints; fi
	# shellcheck disable=SC2086 # BASE may name several packages
	install $base
	touch "$venv/ready"
fi
for group; do
	if ! test -e "$venv/ready-$group"; then
		install . --group "$group"
		touch "$venv/ready-$group"
	fi
done

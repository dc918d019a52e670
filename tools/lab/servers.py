"""Start the lab's model servers with the small model, in each of `CONFIGURATIONS`: with their
parsers, wrong ones, or none.
"""

import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.support.harness import TESTS, Program
from tools.lab.installing import (
    INSTALLERS,
    Installation,
    MissingError,
    installation_of,
    libraries_of,
    run,
)

MODEL = "tiny-think"
"""The name under which servers serve the model."""
FOR_CLAUDE_CODE = "tiny"
"""A second name of the model. It is what the lab's Claude Code requests."""
WINDOW = 65536
"""The context window, in tokens, with which llama-cpp-python, vLLM and SGLang are started."""
SECONDS_TO_START = 600
"""How long a server may take until it answers. vLLM alone takes 46 seconds, but minutes while other
programs run.
"""
LOADING_GGUF = ("ollama", "llama-cpp-python")
"""Servers that load the model from a GGUF file. All others load a folder with safetensors files."""
_MODEL_MAKER = TESTS / "tiny_model" / "make_model.py"
"""The script that makes the model's folder out of `_GGUF`."""
_GGUF = TESTS / "tiny_model" / "tiny-think.gguf"
"""The model as one GGUF file."""
_ENVIRONMENT_OF_ALL = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOOPBACK_IP": "127.0.0.1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "GLOO_SOCKET_IFNAME": "lo",
    "SGLANG_USE_CPU_ENGINE": "1",
    "TORCHDYNAMO_DISABLE": "1",
}
"""Environment variables with which every server is started: one core, no graphics card, no network
but this machine's own, no telemetry.
"""
NO_PARSER, OWN_PARSERS, WRONG_PARSERS = "no parser", "its parsers", "wrong parsers"
_R1_TEMPLATE = ("--chat-template", str(TESTS / "tiny_model" / "r1.jinja"))
"""Options of vLLM and SGLang: a chat template that ends with `<think>`, as DeepSeek R1's does."""
_REPORT_CACHED = ("--enable-prompt-tokens-details",)
"""Options of vLLM: report how many prompt tokens were in its cache."""
_VLLM_R1 = ("--reasoning-parser", "deepseek_r1")
"""Options of vLLM: the parser of DeepSeek R1's thinking."""
_VLLM_CALLS = ("--enable-auto-tool-choice", "--tool-call-parser")
"""Options of vLLM: parse tool calls. The parser's name must follow them."""
CONFIGURATIONS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "ollama": {NO_PARSER: ()},
    "mlx-lm": {OWN_PARSERS: ()},
    "mlx-vlm": {NO_PARSER: ("--enable-thinking",)},
    "llama-cpp-python": {NO_PARSER: ("--interrupt_requests", "false")},
    "transformers": {NO_PARSER: ()},
    "vllm": {
        NO_PARSER: _REPORT_CACHED,
        OWN_PARSERS: (*_REPORT_CACHED, "--reasoning-parser", "qwen3", *_VLLM_CALLS, "hermes"),
        WRONG_PARSERS: (*_REPORT_CACHED, *_R1_TEMPLATE, *_VLLM_R1, *_VLLM_CALLS, "pythonic"),
    },
    "sglang": {
        NO_PARSER: (),
        OWN_PARSERS: ("--reasoning-parser", "qwen3", "--tool-call-parser", "qwen25"),
        WRONG_PARSERS: (*_R1_TEMPLATE, "--reasoning-parser", "deepseek-r1"),
    },
}
"""Name of a server -> name of a configuration -> the server's options in it. mlx-lm has no
configuration without a parser, because it always parses thinking itself.
"""
_SGLANG_OPTIONS = """
--device cpu --attention-backend torch_native --sampling-backend pytorch --disable-cuda-graph
--disable-overlap-schedule --dtype float32 --mem-fraction-static 0.2 --max-total-tokens 70000
--skip-server-warmup --enable-cache-report
"""
"""Options with which SGLang runs the small model on a processor."""
_MODELFILE = '''FROM {gguf}
PARAMETER num_ctx 2048
PARAMETER stop <|im_end|>
TEMPLATE """{template}"""
'''
"""The file that describes the model to Ollama, with places for the GGUF file's name and the chat
template.
"""
_GO_TEMPLATE = """{{- if or .System .Tools }}<|im_start|>system
{{- if .System }}
{{ .System }}
{{- end }}
{{- if .Tools }}
# Tools

You can use these tools:
<tools>
{{- range .Tools }}
{"type": "function", "function": {{ .Function }}}
{{- end }}
</tools>

To use one, write
<tool_call>
{"name": "the tool", "arguments": {"parameter": "value"}}
</tool_call>
{{- end }}<|im_end|>
{{ end }}
{{- range $at, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $at)) 1 -}}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ if .Content }}{{ .Content }}
{{- else if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{ end }}</tool_call>
{{- end }}{{ if not $last }}<|im_end|>
{{ end }}
{{- else if eq .Role "tool" }}<|im_start|>user
<tool_response>
{{ .Content }}
</tool_response><|im_end|>
{{ end }}
{{- if and (ne .Role "assistant") $last }}<|im_start|>assistant
{{ end }}
{{- end }}"""
"""The chat template tests/tiny_model/qwen.jinja, in the template language of Ollama (Go's)."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server, which answers at `address`."""

    name: str
    """The name of the server."""
    address: str
    """The server's address, such as `http://127.0.0.1:8000`."""
    program: Program
    """The server's process."""


def free_port() -> int:
    """Return a port that is free now. A server gets it as an option: one that it chose by itself
    would not be known to the lab.
    """
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def start_server(name: str, folder: Path, options: Sequence[str] = ()) -> Iterator[RunningServer]:
    """Start a server in `folder` and wait until it answers; the end of the `with` block stops it.

    A server that is not installed yet is installed first. `options`: those of its configuration.
    Raises MissingError if it cannot be installed, or does not answer.
    """
    installation, port = installation_of(name), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "home" / "hub").mkdir(parents=True, exist_ok=True)
    if name not in LOADING_GGUF:
        make_model_folder(installation, folder)
    command = [*_command(name, installation, port), *options]
    environment = {**_ENVIRONMENT_OF_ALL, **_environment(name, installation, folder, port)}
    written = [f"{variable}={value}" for variable, value in environment.items()]
    log = folder / f"{name}.log"
    with Program(["env", *written, *command], log, cwd=folder) as program:
        _wait_for_answer(program, port, f"{installation.folder.name}: {log}")
        if name == "ollama":
            _create_in_ollama(installation, folder, port)
        yield RunningServer(name, f"http://127.0.0.1:{port}", program)


def make_model_folder(installation: Installation, folder: Path) -> None:
    """Write the model's folder (weights, tokenizer, template) from its GGUF file, if it is missing.

    The script that writes it runs with the Python of the server's installation, into which the
    script's packages are installed first. `folder`: where the model's folder goes.
    """
    if not (folder / MODEL).exists():
        installation.pip(
            "install", "--only-binary", ":all:", "gguf", "numpy", "tokenizers", "safetensors"
        )
        run(
            [str(installation.python), str(_MODEL_MAKER), "folder", str(_GGUF), str(folder / MODEL)]
        )


def _command(name: str, installation: Installation, port: int) -> Sequence[str]:
    """Return the command that starts a server, without the options of its configuration."""
    at = ("--host", "127.0.0.1", "--port", str(port))
    match name:
        case "ollama":
            return (installation.program("ollama-lib"), "serve")
        case "mlx-lm" | "mlx-vlm":
            return (installation.program(f"{name.replace('-', '_')}.server"), "--model", MODEL, *at)
        case "llama-cpp-python":
            loaded = ("--model", str(_GGUF), "--model_alias", MODEL, "--n_ctx", str(WINDOW))
            return (str(installation.python), "-m", "llama_cpp.server", *loaded, *at)
        case "transformers":
            return (installation.program("transformers"), "serve", *at)
        case "vllm":
            # A batch may be as long as the window, so that each prompt fits into one: on a
            # processor, vLLM 0.33 dies of a request with a seed if its prompt needs two.
            window = ("--max-model-len", str(WINDOW), "--max-num-batched-tokens", str(WINDOW))
            served = ("--served-model-name", MODEL, FOR_CLAUDE_CODE)
            plain = ("--enforce-eager", "--dtype", "float32")
            return (installation.program("vllm"), "serve", MODEL, *at, *served, *window, *plain)
        case "sglang":
            model = ("--model-path", MODEL, "--served-model-name", MODEL)
            options = (*_SGLANG_OPTIONS.split(), "--context-length", str(WINDOW))
            return (str(installation.python), "-m", "sglang.launch_server", *model, *at, *options)
    raise MissingError(f"no server is called {name!r}; there are {', '.join(INSTALLERS)}")


def _environment(name: str, installation: Installation, folder: Path, port: int) -> dict[str, str]:
    """Return the environment variables of one server, besides those of `_ENVIRONMENT_OF_ALL`.

    The programs of its installation come first in PATH, because some servers call compilers at
    their start.
    """
    variables = {
        "HF_HOME": str(folder / "home"),
        "PATH": f"{installation.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    if name == "llama-cpp-python":
        libraries = libraries_of(installation)
        variables |= {
            "LLAMA_CPP_LIB_PATH": str(libraries),
            "LD_LIBRARY_PATH": str(libraries),
            "GGML_BACKEND_PATH": str(libraries / "libggml-cpu-haswell.so"),
        }
    if name == "ollama":
        variables |= {
            "HOME": str(folder),
            "LD_LIBRARY_PATH": f"{installation.folder / 'bin'}:{installation.folder / 'lib'}",
            "OLLAMA_HOST": f"127.0.0.1:{port}",
            "OLLAMA_MODELS": str(folder / "models"),
        }
    return variables


def _create_in_ollama(installation: Installation, folder: Path, port: int) -> None:
    """Create the lab's model in the running Ollama, from the GGUF file and a Modelfile."""
    shutil.copy(_GGUF, folder / _GGUF.name)
    file = folder / "Modelfile"
    file.write_text(_MODELFILE.format(gguf=_GGUF.name, template=_GO_TEMPLATE))
    variables = _environment("ollama", installation, folder, port)
    written = [f"{name}={value}" for name, value in variables.items()]
    run(
        ["env", *written, installation.program("ollama-lib"), "create", MODEL, "-f", str(file)],
        folder,
    )


def _wait_for_answer(program: Program, port: int, what: str) -> None:
    """Wait until the server answers `GET /v1/models` with status 200.

    Raises MissingError if its process ends, or if it takes too long. `what`: the server and its
    log, for the error's message.
    """
    until = time.monotonic() + SECONDS_TO_START
    path = "/v1/models"
    while time.monotonic() < until:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except (OSError, HTTPException):
            pass  # the server does not listen yet; if its process has ended, the loop ends below
        finally:
            connection.close()
        if program.has_ended:
            break
        time.sleep(0.3)
    raise MissingError(f"it did not answer: {what}: {program.output[-300:]}")

"""Files for deployment: each is read by a validator of its kind, and its command works.

No container, cluster or service is started here.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from converter.extras.command import start
from tests.support.harness import free_ports

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROGRAMS = Path(sys.executable).parent
COMPOSE = sorted(DEPLOY.glob("compose.*.yaml"))
KUBERNETES = DEPLOY / "kubernetes.yaml"
UNIT = (DEPLOY / "think-addon.service").read_text()


def checked(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def addon_of_compose(file: Path) -> list[str]:
    services: dict[str, Any] = YAML(typ="safe").load(file.read_text())["services"]
    return list(services["think-addon"]["command"])


def of_kubernetes() -> dict[tuple[str, str], Any]:
    """Its objects, by kind and name."""
    read = YAML(typ="safe").load_all(KUBERNETES.read_text())
    return {(each["kind"], each["metadata"]["name"]): each for each in read}


def addon_of_kubernetes() -> list[str]:
    deployment = of_kubernetes()["Deployment", "model"]
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return next(list(each["args"]) for each in containers if each["name"] == "think-addon")


def addon_of_unit() -> list[str]:
    environment = dict(
        pair.split("=", 1) for pair in re.findall(r"(?m)^Environment=(.*)$", UNIT)[0].split()
    )
    command = re.findall(r"(?m)^ExecStart=\S+ (.*)$", UNIT)[0]
    for name, value in environment.items():
        command = command.replace(f"${{{name}}}", value).replace(f"${name}", value)
    return shlex.split(command)


COMMANDS = {
    **{file.name: addon_of_compose(file) for file in COMPOSE},
    "kubernetes.yaml": addon_of_kubernetes(),
    "think-addon.service": addon_of_unit(),
}


def test_the_dockerfile_passes_its_linter() -> None:
    checked(str(PROGRAMS / "hadolint"), str(DEPLOY / "Dockerfile"))


def test_the_image_gets_no_more_than_its_dockerfile_copies() -> None:
    copied = re.findall(r"(?m)^COPY (.*) \S+$", (DEPLOY / "Dockerfile").read_text())
    wanted = {name for line in copied for name in line.split()}
    let_in = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert let_in[0] == "*"
    assert {line[1:] for line in let_in if line.startswith("!")} == wanted


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: str(file.name))
def test_compose_files_fit_the_specification(file: Path) -> None:
    checked(
        str(PROGRAMS / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(file)
    )


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: str(file.name))
def test_compose_publishes_on_this_machine_only(file: Path) -> None:
    services: dict[str, Any] = YAML(typ="safe").load(file.read_text())["services"]
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    build = services["think-addon"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()


def test_kubernetes_knows_every_field() -> None:
    checked(str(PROGRAMS / "kubernetes-validate"), "--strict", "-k", "1.31", str(KUBERNETES))


def test_the_replicas_of_kubernetes_share_a_memory() -> None:
    """One secret has Valkey's password and the address with it; the service has Valkey's name."""
    applied = of_kubernetes()
    keys = {
        each["name"]: each["valueFrom"]["secretKeyRef"]
        for kind, name in (("Deployment", "model"), ("StatefulSet", "think-memory"))
        for container in applied[kind, name]["spec"]["template"]["spec"]["containers"]
        for each in container.get("env", ())
    }
    assert {name: key["name"] for name, key in keys.items()} == {
        "THINK_MEMORY": "think-memory",
        "PASSWORD": "think-memory",
    }
    text = KUBERNETES.read_text()
    assert all(f"--from-literal={key['key']}=" in text for key in keys.values())
    assert "redis://:PASSWORD@think-memory:6379/0" in text
    store, service = applied["StatefulSet", "think-memory"], applied["Service", "think-memory"]
    assert service["spec"]["selector"] == store["spec"]["template"]["metadata"]["labels"]
    assert store["spec"]["serviceName"] == service["metadata"]["name"]


def test_the_unit_is_a_unit(tmp_path: Path) -> None:
    """With a program of the tests in place of the one that a user installs."""
    verify = shutil.which("systemd-analyze")
    assert verify, "systemd-analyze is missing (on Debian: apt-get install systemd)"
    unit = tmp_path / "think-addon.service"
    unit.write_text(UNIT.replace("/opt/think-addon/bin/think-addon", sys.executable))
    assert checked(verify, "verify", str(unit)) == ""


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_what_they_ask_of_the_command_it_can_do(command: list[str]) -> None:
    port = str(free_ports(1)[0])
    chosen, more = start.parse_arguments([word if word != "8080" else port for word in command])
    arguments = [*start.mitmproxy_arguments(chosen), *more]
    assert chosen.interface == "dump"
    assert arguments[arguments.index("--listen-port") + 1] == port


def test_workflows_fit_their_schema() -> None:
    files = map(str, sorted((ROOT / ".github" / "workflows").glob("*.yml")))
    schema = "vendor.github-workflows"
    checked(str(PROGRAMS / "check-jsonschema"), "--builtin-schema", schema, *files)

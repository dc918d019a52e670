# Two commands do everything: "make run" and "make test". Both set up .venv by themselves. CONTRIBUTING.md has the knobs of the tests.

SERVER =
UI = web
PORT =
WEB_PORT =
OPTIONS =
PEERS =
BENCH =
ROOM =
FULL =
MINUTES =
SERVERS =
unexport PYTHONDONTWRITEBYTECODE # or each program that a test starts compiles all of converter/ anew, and pytest all tests

comma := ,
PYTHON = .venv/bin/python
INSTALLED = .venv/installed-

.DELETE_ON_ERROR:
.NOTPARALLEL: # two pips in one .venv would meet
.PHONY: help run test test-fast nightly soak fuzz lab bench check format setup programs clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s%s\n", $$1, $$2 }' Makefile

START = $(if $(SERVER),-m converter.command '$(SERVER)',-m tools.run_proxy)
CHOSEN = $(if $(UI:web=),'--$(UI)') $(if $(PORT),--port '$(PORT)') $(if $(WEB_PORT),--web-port '$(WEB_PORT)')

run: $(INSTALLED)proxy $(if $(SERVER),,$(INSTALLED)model-server) ## start the proxy: SERVER=http://host:port UI=web|dump PORT=8080 WEB_PORT=8081 OPTIONS=...
	@exec $(PYTHON) $(START) $(CHOSEN) -- $(OPTIONS)

# Three at a time on two cores, for they often wait for the programs they start; file by file, for the tests of a file share these programs;
# in the order of tests/conftest.py, or files of few and long tests would come last.
TAKEN = -m $(if $(FULL),'not nightly','not long and not nightly') --think-cuts 2
ROOM_TESTS = $(if $(ROOM),$(wildcard tests/$(ROOM)) $(wildcard tests/laws) tests/test_shape.py)

test: setup $(if $(ROOM),,programs) ## run the tests, a fifth of the rows and none that is marked long; FULL=1: all but nightly; ROOM=core/wire: that room and the laws
	$(if $(ROOM),$(if $(wildcard tests/$(ROOM)),,$(error tests/$(ROOM) is no room)))@LAW_SHARE=$(if $(FULL),1,5) $(PYTHON) -m pytest $(ROOM_TESTS) -n 3 --dist loadfile --no-loadscope-reorder $(TAKEN)

test-fast: $(INSTALLED)test ## run the tests that start no program, a tenth of the rows: a minute
	@LAW_SHARE=10 $(PYTHON) -m pytest tests -n auto --dist worksteal -m 'not slow'

nightly: ## run every test, a thousand examples of each law, "make fuzz" and "make soak": hours
	@$(MAKE) --no-print-directory test FULL=1 TAKEN=
	@LAW_EXAMPLES=1000 $(PYTHON) -m pytest tests/laws -n 2 --dist worksteal
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory soak

soak: setup ## ask like many clients for MINUTES=8, some with faults: nothing wrong, nothing left
	@$(PYTHON) -m tests.soak $(if $(MINUTES),--minutes '$(MINUTES)')

fuzz: setup ## draw input that may break a promise, for MINUTES=10
	@$(PYTHON) -m tests.fuzz $(if $(MINUTES),--minutes '$(MINUTES)')

lab: setup ## ask real servers everything, for README's table: SERVERS=vllm,sglang,... (gigabytes)
	@$(PYTHON) -m tools.lab $(subst $(comma), ,$(SERVERS))

bench: setup ## measure the proxy: BENCH='gaps', 'lengths', 'memory', 'turns', ...; PEERS=1: other proxies as well
	@$(PYTHON) -m tools.bench $(if $(PEERS),--peers) $(BENCH)

check: setup ## lint, format check and types
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check
	@$(PYTHON) -m mypy

format: setup ## format the sources and mend what the linter can
	@$(PYTHON) -m ruff check --fix
	@$(PYTHON) -m ruff format

setup: $(INSTALLED)model-server $(INSTALLED)dev ## install into .venv all that "test" and "check" need

programs: ## install the browser and other programs that tests drive, as root; else name them
	@bash .ci/install-programs

clean: ## remove all that these targets made
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build screenshots *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# When the Python behind .venv has vanished, its link dangles: make then sees no target, and all that stands on it is made anew.
$(PYTHON):
	@echo "Setting up .venv ..."
	@python=$$(bash .ci/find-python) && rm -rf .venv && "$$python" -m venv .venv

# What pyproject.toml lists is installed, not the project itself: it runs from this folder. The project's own dependencies are
# named each time, so that an extra never moves them out of their range. -qq: pip tells of errors only.
# Of what developers get the most is never imported; the rest is compiled then.
LIST = import sys, tomllib; listed = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*listed["dependencies"], *listed["optional-dependencies"].get(sys.argv[1], []), sep="\n")

$(INSTALLED)%: pyproject.toml $(PYTHON)
	@echo "Installing into .venv: $* ..."
	@$(PYTHON) -c '$(LIST)' $* > .venv/$*.txt
	@$(PYTHON) -m pip install -qq $(if $(findstring dev,$*),--no-compile) --disable-pip-version-check --only-binary :all: -r .venv/$*.txt
	@touch $@

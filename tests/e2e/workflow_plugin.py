"""A plugin in the story of workflows: its tool provides the value of an input, and is edited on disk."""

import sys

from story import FOLDER, check
from workflow_agent import Agent

# An MCP server that anybody could have written.
SERVER = '''from typing import TypedDict

from mcp.server import MCPServer


class Plan(TypedDict):
    id: str
    name: str


class Plans(TypedDict):
    plans: list[Plan]


server = MCPServer("plans")


@server.tool()
def list_plans() -> Plans:
    """Lists the plans"""
    return {"plans": [{"id": "small", "name": "A small one"}, {"id": "large", "name": "A large one"}]}


@server.tool()
def reserve(plan: str) -> str:
    """Reserves a plan"""
    return f"reserved {plan}"


server.run()
'''

WORKFLOW = """workflow: database_of_plan
inputs:
  plan:
    provider: plans:list_plans
    select: { value_field: id, display_field: name, id_field: id }
steps:
  - id: reserve
    run: plans:reserve
    with: { plan: '${{ inputs.plan }}' }
  - id: add_db
    run: databases:create
    depends_on: [reserve]
    with: { plan: '${{ inputs.plan }}', app_id: app-1 }
final_output: ${{ steps.add_db.output.plan }}
"""


def provides(ada, hosting):
    """A person adds the plugin, and chooses among the values that its tool provides."""
    (ada.path / "plans.py").write_text(SERVER)
    (ada.path / "database.yaml").write_text(WORKFLOW)
    program = FOLDER / "bin/plans"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ada.path}/plans.py"\n')
    program.chmod(0o755)
    ada.types("mcpkg plugin add plans -- plans", answers=["y"])
    ada.types("mcpkg plugin set plans --provider list_plans --items plans --value id --label name", answers=["y"])
    ada.types("mcpkg command search --group plans plans", table=True)
    ada.types("mcpkg workflow validate database.yaml")
    before = len(hosting.databases)
    ada.types("mcpkg workflow run database.yaml", answers=["2", "y"])
    made = [database["plan"] for database in hosting.databases[before:]]
    check("the database has the plan that was chosen", made == ["large"], made)


async def edited(ada, hosting, era):
    """The plugin's program is edited after a plan with its tool was approved."""
    arguments = {"yaml": WORKFLOW, "inputs": {"plan": "small"}, "wait_s": 0}
    made = len(hosting.databases)
    async with Agent(ada, era) as agent:
        asked = (await agent.call("execute", **arguments))["error"]["details"]
        ada.types(asked["command"], answers=["y"], kept=False)
        word = "twice" if "twice" not in (ada.path / "plans.py").read_text() else "three times"
        ada.types(f"sed -i 's/\"\"\"Reserves.*/\"\"\"Reserves a plan, and bills it {word}\"\"\"/' plans.py")
        refused = await agent.call("execute", **arguments | {"nonce": asked["nonce"], "wait_s": 30})
        check(f"agent ({era}): what was approved is not run with another tool", "E_PLAN_CHANGED" in str(refused), refused)
    check("nothing was made", len(hosting.databases) == made)
    ada.types("mcpkg plugin list", table=True)
    told = ada.run("mcpkg doctor --scope user", quiet=True)
    check("doctor tells it", "1 tool of 'plans' changed since a person last approved them" in told, told)
    ada.types("mcpkg plugin check plans --check", status=3)
    ada.types("mcpkg plugin check plans", answers=["y"])
    async with Agent(ada, era) as agent:
        old = await agent.call("execute", **arguments | {"nonce": asked["nonce"]})
        check(f"agent ({era}): its old nonce is good for nothing", old["error"]["code"] == "E_CONSENT_MISMATCH", old)
        asked = (await agent.call("execute", **arguments))["error"]["details"]
        ada.types(asked["command"], answers=["y"], kept=False)
        done = await agent.call("execute", **arguments | {"nonce": asked["nonce"], "wait_s": 30})
        check(f"agent ({era}): and once it is approved again it runs", done.get("final_output") == "small", done)
    check("the API made one database", len(hosting.databases) == made + 1)

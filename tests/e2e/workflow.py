"""The story of workflows: `workflow.py MCPKG FOLDER`, started by workflow.sh."""

import asyncio
import json
import warnings
from pathlib import Path

import workflow_plugin
from hosting import PASSWORD, Hosting
from story import check, end
from workflow_agent import Agent
from workflow_person import Person

warnings.simplefilter("ignore")

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures/api/hosting.json"
TOKEN = "t0ken-of/the story"

WORKFLOW = """workflow: app_with_db
description: An app with a database that is ready
inputs:
  region: { type: string, enum: [eu, us] }
steps:
  - id: look
    run: apps:list
    with: { region: '${{ inputs.region }}' }
  - id: create_app
    run: apps:create
    depends_on: [look]
    with: { name: web, region: '${{ inputs.region }}', env: { TOKEN: '${{ secrets.token }}' } }
  - id: add_db
    run: databases:create
    with: { plan: small, app_id: '${{ steps.create_app.output.id }}' }
  - id: ready
    run: databases:info
    with: { database_id: '${{ steps.add_db.output.id }}' }
    repeat: { until: '${{ steps.ready.output.state == "ready" }}', every: 200ms, timeout: 5m }
final_output:
  app: ${{ steps.create_app.output.id }}
  database: ${{ steps.ready.output.id }}
  state: ${{ steps.ready.output.state }}
"""

# The one mistake: the step is called create_app.
PLANTED = WORKFLOW.replace("steps.create_app.output.id }}' }", "steps.create_ap.output.id }}' }")


def heading(text):
    print(f"\n# {text}", flush=True)


async def writes(agent):
    """An agent finds the commands, writes a workflow with one mistake, hears of it, and proposes what is right."""
    heading(f"2. An agent ({agent.era}) finds commands, and writes a workflow of them")
    found = [hit["id"] for hit in (await agent.call("search_commands", query="create app postgres"))["results"]]
    check("agent: what it looks for comes first", found[0] == "apps:create", found)
    create = await agent.call("get_command_spec", id="apps:create")
    check("agent: a command says what it takes", {flag["name"] for flag in create["flags"]} >= {"name", "region"}, create)
    database = await agent.call("get_command_spec", id="databases:create")
    check("agent: and how often it may be sent", (create["idempotency"], database["idempotency"]) == ("key", "none"))
    providers = (await agent.call("list_providers"))["providers"]
    check("agent: apps:list provides apps", any(provider["id"] == "apps:list" for provider in providers), providers)
    wrong = await agent.call("validate_workflow", yaml=PLANTED)
    line = next(n for n, text in enumerate(PLANTED.splitlines(), 1) if "create_ap." in text)
    column = PLANTED.splitlines()[line - 1].index("create_ap.") + 1
    place = [(error["code"], error["line"], error["column"]) for error in wrong["errors"]]
    check("agent: the mistake is found at its place", place == [("unknown_step_ref", line, column)], wrong["errors"])
    right = await agent.call("validate_workflow", yaml=WORKFLOW)
    check("agent: what is right has no errors", right["errors"] == [], right)
    plan = (await agent.call("dry_run", yaml=WORKFLOW, sample_inputs={"region": "eu"}))["plan"]
    check("agent: the plan is in order", [step["id"] for step in plan["steps"]] == ["look", "create_app", "add_db", "ready"], plan)
    missing = (await agent.call("dry_run", yaml=WORKFLOW))["plan"]["inputs_required"]
    check("agent: the plan says what is missing", missing == ["region"], missing)
    rendered = await agent.call("render_yaml", draft={"workflow": "app_with_db", "inputs": [], "steps": []})
    check("agent: a draft is rendered", rendered["yaml"].startswith("workflow: app_with_db"), rendered)


async def proposes(agent, message):
    draft = await agent.call("propose_workflow", yaml=WORKFLOW, message=message)
    check("agent: its proposal waits for a person", draft.get("state", "open") == "open", draft)
    return draft


def person_reviews(ada):
    heading("3. A person looks at the draft, its difference and its plan, and approves it")
    draft = ada.json("mcpkg draft list")["drafts"][0]["id"]
    ada.types("mcpkg draft list", table=True)
    for word in ("show", "diff"):
        ada.types(f"mcpkg draft {word} {draft}")
    ada.types(f"mcpkg draft plan {draft}", table=True)
    ada.types(f"mcpkg draft approve {draft}", answers=["y"])
    kept = [workflow["name"] for workflow in ada.json("mcpkg workflow list")["workflows"]]
    check("the workflow is the project's now", kept == ["app_with_db"], kept)
    ada.types("mcpkg workflow show app_with_db")


async def killed(ada, hosting):
    """It is approved in the shell, killed while it waits, and goes on."""
    heading("4. Approved in the shell, killed in the wait, resumed")
    arguments = {"yaml": WORKFLOW, "inputs": {"region": "eu"}, "wait_s": 0}
    async with Agent(ada, "2025-11-25") as agent:
        asked = await agent.call("execute", **arguments)
        check("agent: it has to be consented to", asked["error"]["code"] == "E_CONSENT_REQUIRED", asked)
        details = asked["error"]["details"]
        pending = await agent.call("execute", **arguments, nonce=details["nonce"])
        check("agent: its nonce is dead", pending["error"]["code"] == "E_CONSENT_PENDING", pending)
        ada.types("mcpkg consent list", table=True)
        ada.types(details["command"], answers=["y"])
        begun = await agent.call("execute", **arguments, nonce=details["nonce"])
        run = begun["run"]
        for _ in range(200):
            if hosting.counts["GET /databases/db-1"] >= 3:
                break
            await asyncio.sleep(0.05)
        ada.types("mcpkg workflow runs", table=True)
        agent.kill()
        await asyncio.sleep(0.3)
    ada.types("mcpkg workflow runs", table=True)
    hosting.release()
    ada.types(f"mcpkg workflow resume {run}")
    made = len(hosting.apps), len(hosting.databases), hosting.counts["POST /databases"], hosting.counts["POST /apps"]
    check("the API made one app and one database", made == (1, 1, 1, 1), made)
    # How often it waited differs; all else is compared.
    shown = ada.types(f"mcpkg workflow runs {run}", kept=False)
    check("each attempt is shown, its secrets as ***", '"env":{"TOKEN":"***"}' in shown, shown)
    attempts = ada.json(f"mcpkg workflow runs {run}")["steps"]
    check("what it was answered too", '"password":"***"' in attempts[2]["attempts"][0]["excerpt"], attempts)
    check("what succeeded is not repeated", [len(step["attempts"]) for step in attempts[:3]] == [1, 1, 1], attempts)
    again = json.loads(ada.run(f"mcpkg workflow resume {run} --json", status=1, quiet=True))
    check("a run that ended does not go on", again["error"]["code"] == "E_RUN_STATE", again)


async def elicited(ada, hosting, era):
    """The agent's client asks its user, who says yes."""
    apps = len(hosting.apps)
    async with Agent(ada, era, says=True) as agent:
        done = await agent.call("execute", yaml=WORKFLOW, inputs={"region": "us"}, wait_s=40)
        check(f"agent ({era}): its user is asked once", len(agent.asked) == 1 and "POST" in agent.asked[0], agent.asked)
        check(f"agent ({era}): and it ran", done.get("state") == "succeeded" and done["final_output"]["state"] == "ready", done)
    check("the API made one app more", len(hosting.apps) == apps + 1)
    ada.types(f"mcpkg workflow runs {done['run']}")
    async with Agent(ada, era, says=False) as agent:
        denied = await agent.call("execute", yaml=WORKFLOW, inputs={"region": "eu"}, wait_s=5)
        check(f"agent ({era}): a no is a no", denied["error"]["code"] == "E_CONSENT_DENIED", denied)
    check("nothing was made", len(hosting.apps) == apps + 1)


async def exposed(ada, hosting, era):
    """The workflow is a tool while a person wants it so; the agent calls it, and makes a workflow of that run."""
    tool = "workflow__app_with_db"
    async with Agent(ada, era, says=True) as agent:
        check(f"agent ({era}): it has no such tool", tool not in await agent.tools())
        ada.types("mcpkg workflow expose app_with_db", answers=["y"])
        check(f"agent ({era}): it hears of the tool", await agent.hears() and tool in await agent.tools())
        apps = len(hosting.apps)
        done = await agent.call(tool, region="us", wait_s=40)
        check(f"agent ({era}): its user is asked for this tool too", len(agent.asked) == 1, agent.asked)
        check(f"agent ({era}): the tool does its work", done.get("state") == "succeeded" and len(hosting.apps) == apps + 1, done)
        ada.types("mcpkg workflow unexpose app_with_db")
        check(f"agent ({era}): it hears that it is gone", await agent.hears() and tool not in await agent.tools())
        made = await agent.call("infer_workflow_from_session", session_log=[done["run"]], name="again")
        checked = await agent.call("validate_workflow", yaml=made["yaml"])
        check(f"agent ({era}): a workflow of its run has no errors", checked["errors"] == [], checked)
    runs = [step["run"] for step in made["draft"]["steps"]]
    # What was read last nothing used.
    check("it has the steps that others need, or that change something", runs == ["apps:list", "apps:create", "databases:create"], runs)
    told = ada.run(f"mcpkg workflow infer {done['run']} --name again", quiet=True)
    check("the shell makes the same", made["yaml"] in told, told)
    return done["run"]


def inferred(ada, run):
    ada.types(f"mcpkg workflow infer {run} --name again >again.yaml")
    ada.types("cat again.yaml")
    ada.types("mcpkg workflow validate again.yaml")


def shared(ada):
    heading("9. Exported, and imported into another project")
    ada.types("mcpkg workflow export app_with_db --to app.yaml")
    ada.types("mcpkg project create other")
    ada.types("mcpkg --project other workflow import app.yaml")
    ada.types("mcpkg --project other workflow list", table=True)
    ada.types("mcpkg --project other workflow validate app_with_db")
    own, other = (ada.run(f"mcpkg --project {project} workflow show app_with_db", quiet=True) for project in ("shop", "other"))
    check("it is the same to the byte", own == other == (ada.path / "app.yaml").read_text(), other)
    runs = ada.json("mcpkg --project other workflow runs")["runs"]
    check("the runs of one project are not the other's", runs == [], runs)


def nowhere(ada):
    heading("10. The secrets are nowhere")
    found = [
        str(path)
        for path in ada.path.rglob("*")
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in (TOKEN, PASSWORD))
    ]
    check("no file of hers holds a secret", not found, found)
    check("nothing that she saw does", not any(secret in line for line in ada.saw for secret in (TOKEN, PASSWORD)))


def main():
    hosting = Hosting(TOKEN)
    ada = Person("ada")
    ada.env["HOSTING_TOKEN"] = TOKEN
    heading("1. An API's document becomes commands")
    ada.types("mcpkg project create shop")
    ada.run(f"cp '{FIXTURE}' hosting.json", quiet=True)
    ada.types(f"mcpkg catalog import hosting.json --prefix '' --base-url {hosting.base} --auth token=env:HOSTING_TOKEN")
    ada.types("mcpkg catalog list", table=True)
    ada.types("mcpkg command search create app", table=True)
    ada.types("mcpkg command show apps:create", table=True)

    async def agents():
        async with Agent(ada, "2025-11-25") as agent:
            await writes(agent)
        async with Agent(ada, "2026-07-28") as agent:
            await writes(agent)
            await proposes(agent, "An app with its database")

    asyncio.run(agents())
    person_reviews(ada)
    asyncio.run(killed(ada, hosting))
    heading("5. Approved where the agent's client asks")
    for era in ("2025-11-25", "2026-07-28"):
        asyncio.run(elicited(ada, hosting, era))
    heading("6. A plugin's tool provides the value of an input")
    workflow_plugin.provides(ada, hosting)
    heading("7. Its program is edited on disk")
    for era in ("2025-11-25", "2026-07-28"):
        asyncio.run(workflow_plugin.edited(ada, hosting, era))
    heading("8. The workflow is a tool, and is made again of its own run")
    for era in ("2025-11-25", "2026-07-28"):
        run = asyncio.run(exposed(ada, hosting, era))
    inferred(ada, run)
    shared(ada)
    nowhere(ada)
    ada.compare()
    end()


main()

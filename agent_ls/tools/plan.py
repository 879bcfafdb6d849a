"""`update_plan`: the steps of a longer piece of work, shown to the person as they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic_ai.toolsets import FunctionToolset

from agent_ls.protocol import Plan, PlanEntry


class PlanStep(BaseModel):
    """One step of the plan."""

    content: Annotated[str, Field(min_length=1, max_length=500)]
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


def plan_toolset(announce: Callable[[Plan], None]) -> FunctionToolset[Any]:
    """The toolset with `update_plan`; every plan goes to `announce`."""

    def update_plan(steps: Annotated[list[PlanStep], Field(max_length=50)]) -> str:
        """Show the plan of a task that takes several steps, and keep it current.

        Give all steps each time; mark one as in_progress, and each as completed as soon as it is done.

        Args:
            steps: The whole plan, in order.
        """
        announce(Plan([PlanEntry(step.content, step.priority, step.status) for step in steps]))
        done = sum(step.status == "completed" for step in steps)
        return f"The plan has {len(steps)} steps, {done} of them completed."

    return FunctionToolset([update_plan], id="agent_ls_plan")
